"""Graphs with operations of tf.contrib are read where nothing has named their package before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import stillflow as tf

SOURCES = Path(tf.__file__).parents[1]
PROGRAM = """
import sys
import stillflow as tf
graph = tf.GraphDef.FromString(open(sys.argv[1], "rb").read())
tf.import_graph_def(graph, name="")
for name in sys.modules:
    package, part, *_ = [*name.split("."), ""]
    assert package != "stillflow_contrib" or part in ("", "ops", "_names", "_api"), name
    assert not name.startswith("stillflow.contrib."), name
with tf.Session() as session:
    for value in session.run(sys.argv[2:]):
        print(value.tolist())
"""
NAMES = [f"{name}:0" for name in ("sums", "probes", "libsvm", "words", "fused", "buckets")]


def build() -> None:
    contrib = tf.contrib
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    contrib.reduce_slice_ops.reduce_slice_sum(rows, [[0, 2]], 0, name="sums")
    contrib.nearest_neighbor.hyperplane_lsh_probes(rows, 1, 2, 2, name="probes")
    _, labels = contrib.libsvm.decode_libsvm(tf.constant(["3 1:2"]), 4)
    tf.identity(labels, name="libsvm")
    tokens, _ = contrib.text.skip_gram_sample(tf.constant(["a", "b"]), 1, 1)
    tf.identity(tokens, name="words")
    contrib.fused_conv.fused_conv2d_bias_activation(
        np.ones([1, 1, 1, 1], np.float32), np.ones([1, 1, 1, 1], np.float32), [2.0],
        padding="SAME", name="fused",
    )  # fmt: skip
    tf.raw_ops.BucketizeWithInputBoundaries(input=[3], boundaries=[1.0, 2.0], name="buckets")


def test_they_are_found(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    with tf.Graph().as_default() as graph, tf.Session() as session:
        build()
        path.write_bytes(graph.as_graph_def().SerializeToString())
        expected = [str(value.tolist()) for value in session.run(NAMES)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path), *NAMES],
        capture_output=True, text=True, timeout=120, cwd=SOURCES,
    )  # fmt: skip
    assert done.stdout.splitlines() == expected, done.stderr
