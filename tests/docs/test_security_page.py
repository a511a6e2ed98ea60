"""The program of SECURITY.md that limits a graph."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stillflow as tf

PAGE = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")


def test_a_limited_model_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        tf.saved_model.simple_save(session, "export", {"x": x}, {"y": tf.square(x)})
    (program,) = re.findall(r"(?ms)^  ```python\n(.*?)^  ```$", PAGE)
    found: dict = {}
    exec(compile(re.sub(r"(?m)^  ", "", program), "SECURITY.md", "exec"), found)
    assert found["predict"]({"x": [3.0]})["y"].tolist() == [9.0]
