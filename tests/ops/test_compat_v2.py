"""`tf.compat.v2`: its argument orders make the nodes of the functions of TF 1."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

V2 = tf.compat.v2
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def nodes(build) -> list:
    with tf.Graph().as_default() as graph:
        build(tf.constant(X))
        return [(node.name, node.op, list(node.input)) for node in graph.as_graph_def().node]


@pytest.mark.parametrize(("new", "old"), [
    (lambda x: V2.reduce_sum(x, 1, True, "s"), lambda x: tf.reduce_sum(x, 1, True, "s")),
    (lambda x: V2.math.reduce_max(x, 0), lambda x: tf.reduce_max(x, 0)),
    (lambda x: V2.argmax(x, 1, tf.int32), lambda x: tf.argmax(x, 1, output_type=tf.int32)),
    (lambda x: V2.math.count_nonzero(x, 1), lambda x: tf.math.count_nonzero(x, 1)),
    (lambda x: V2.norm(x, 1, 0), lambda x: tf.norm(x, 1, 0)),
    (lambda x: V2.expand_dims(x, 0, "e"), lambda x: tf.expand_dims(x, 0, "e")),
    (lambda x: V2.shape(x, tf.int64), lambda x: tf.shape(x, out_type=tf.int64)),
    (lambda x: V2.gather(x, [0], axis=1), lambda x: tf.gather(x, [0], axis=1)),
    (lambda x: V2.gather_nd(x, [[0]], 0, "g"), lambda x: tf.gather_nd(x, [[0]], "g")),
    (lambda x: V2.transpose(x, [1, 0], True), lambda x: tf.transpose(x, [1, 0], conjugate=True)),
    (
        lambda x: V2.pad(x, [[1, 0], [0, 1]], "CONSTANT", 2.0),
        lambda x: tf.pad(x, [[1, 0], [0, 1]], constant_values=2.0),
    ),
    (lambda x: V2.boolean_mask(x, [True, False], 0), lambda x: tf.boolean_mask(
        x, [True, False], axis=0)),
    (lambda x: V2.random.poisson([2], x, seed=1), lambda x: tf.random.poisson(x, [2], seed=1)),
    (lambda x: V2.zeros_like(x, tf.int32), lambda x: tf.zeros_like(x, tf.int32)),
    (lambda x: V2.strings.length(["ab"], "BYTE"), lambda x: tf.strings.length(["ab"])),
    (lambda x: V2.strings.substr(["ab"], 0, 1), lambda x: tf.strings.substr(["ab"], 0, 1)),
])  # fmt: skip
def test_the_same_nodes(new, old):
    assert nodes(new) == nodes(old)


def test_old_arguments_are_not_taken():
    with pytest.raises(TypeError, match="reduction_indices"):
        V2.reduce_sum(X, reduction_indices=0)
