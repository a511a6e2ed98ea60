"""`python -m stillflow export`: files in, a module of PyTorch out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.cli import export

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], "x")
        weights = tf.get_variable("layer/w", [3, 2])
        y = tf.nn.softmax(tf.matmul(x, weights), name="y")
        with tf.Session() as made:
            made.run(tf.global_variables_initializer())
            yield made, x, y


def exported(*arguments: Any) -> int:
    return export.main([*map(str, arguments), "--to", "torch"])


def test_frozen_graphs(session: Any, tmp_path: Path, capsys: Any) -> None:
    made, _, _ = session
    frozen = tf.graph_util.convert_variables_to_constants(made, made.graph_def, ["y"])
    (tmp_path / "graph.pb").write_bytes(frozen.SerializeToString())
    assert exported(tmp_path / "graph.pb", "-o", tmp_path / "model") == 0
    assert "agrees with the session" in capsys.readouterr().out
    source = (tmp_path / "model" / "model.py").read_text()
    assert "self.layer = nn.Linear(3, 2, bias=False)" in source


def test_saved_models(session: Any, tmp_path: Path, capsys: Any) -> None:
    made, x, y = session
    tf.saved_model.simple_save(made, str(tmp_path / "saved"), {"x": x}, {"y": y})
    assert exported(tmp_path / "saved", "-o", tmp_path / "model") == 0
    assert "model: outputs y:0" in capsys.readouterr().out
    assert exported(tmp_path / "saved", "-o", tmp_path / "b", "--signature", "other") == 1
    assert "no signature 'other'" in capsys.readouterr().err


def test_checkpoints_with_their_graph(session: Any, tmp_path: Path, capsys: Any) -> None:
    made, _, _ = session
    with made.graph.as_default():
        prefix = tf.train.Saver().save(made, str(tmp_path / "model.ckpt"))
    np.savez(tmp_path / "samples.npz", x=np.ones((4, 3), np.float32))
    arguments = (prefix, "-o", tmp_path / "model", "--inputs", "x:0", "--outputs", "y:0")
    assert exported(*arguments, "--samples", tmp_path / "samples.npz") == 0
    assert exported(*arguments) == 1  # it exists
    assert "--force replaces it" in capsys.readouterr().err
    assert exported(*arguments, "--force", "--no-verify") == 0
    assert (tmp_path / "model" / "model.py").read_text().startswith("# UNVERIFIED")


def test_files_that_are_no_model(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "page.pb").write_bytes(b"<!DOCTYPE html><html></html>")
    assert exported(tmp_path / "page.pb", "-o", tmp_path / "model") == 1
    assert exported(tmp_path / "missing.pb", "-o", tmp_path / "model") == 1
    assert not (tmp_path / "model").exists()
    assert len(capsys.readouterr().err.splitlines()) >= 2
