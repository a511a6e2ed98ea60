"""Records and events, asked of a real TensorFlow 1.15.5 both ways."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.files.records import read_records

pytestmark = pytest.mark.oracle

WRITE = """
import sys, tensorflow as tf
for kind in ("", "ZLIB", "GZIP"):
    with tf.python_io.TFRecordWriter(sys.argv[1] + "/records" + kind, kind) as writer:
        for size in range(0, 3000, 7):
            writer.write(bytes(bytearray([size % 251])) * size)
with tf.summary.FileWriter(sys.argv[1] + "/logs", tf.get_default_graph()) as writer:
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2)]), 5)
"""
READ = """
import glob, sys, tensorflow as tf
for kind in ("", "ZLIB", "GZIP"):
    found = list(tf.python_io.tf_record_iterator(sys.argv[1] + "/records" + kind, kind))
    assert found == [bytes(bytearray([size % 251])) * size for size in range(0, 3000, 7)]
[path] = glob.glob(sys.argv[1] + "/logs/*")
kinds = [event.WhichOneof("what") for event in tf.train.summary_iterator(path)]
assert kinds == ["file_version", "graph_def", "meta_graph_def", "summary"], kinds
"""


def stillflow(program: str, folder: Path) -> None:
    with tf.Graph().as_default():
        text = program.replace("tensorflow", "stillflow")
        exec(text.replace("sys.argv[1]", repr(str(folder))), {})


def tensorflow(program: str, folder: Path) -> None:
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, "-c", program, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr


def test_tensorflow_reads_what_is_written(tmp_path):
    stillflow(WRITE, tmp_path)
    tensorflow(READ, tmp_path)


def test_what_tensorflow_writes_is_read(tmp_path):
    tensorflow(WRITE, tmp_path)
    expected = [bytes([size % 251]) * size for size in range(0, 3000, 7)]
    for kind in ("", "ZLIB", "GZIP"):
        assert list(read_records(str(tmp_path / f"records{kind}"), kind)) == expected
    [path] = (tmp_path / "logs").iterdir()
    kinds = [event.WhichOneof("what") for event in tf.train.summary_iterator(str(path))]
    assert kinds == ["file_version", "graph_def", "meta_graph_def", "summary"]


def test_both_write_the_same_bytes(tmp_path):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    stillflow(WRITE, tmp_path / "ours")
    tensorflow(WRITE, tmp_path / "theirs")
    ours, theirs = ((tmp_path / name / "records").read_bytes() for name in ("ours", "theirs"))
    assert ours == theirs
