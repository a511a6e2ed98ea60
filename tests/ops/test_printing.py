"""`tf.print` to the log, of which TF_CPP_MIN_LOG_LEVEL says how much is wanted."""

from __future__ import annotations

import re

import pytest

import stillflow as tf


@pytest.mark.parametrize("level, wanted", [
    (None, "IWE"), ("", "IWE"), ("0", "IWE"), ("1", "WE"), ("2", "E"), ("3", ""), ("high", "IWE"),
    ("2 or so", "E"),
])  # fmt: skip
def test_the_log_is_as_loud_as_the_environment_says(monkeypatch, capfd, level, wanted) -> None:
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    if level is not None:
        monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", level)
    with tf.Graph().as_default(), tf.Session() as sess:
        streams = [tf.logging.info, tf.logging.warn, tf.logging.error]
        sess.run([tf.print("x", tf.constant([1, 2]), output_stream=stream) for stream in streams])
    lines = sorted(capfd.readouterr().err.splitlines())
    assert len(lines) == len(wanted)
    for line, letter in zip(lines, sorted(wanted, key="IWE".index), strict=True):
        assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d [\d:]+\.\d{{6}}: {letter} x \[1 2\]", line)
