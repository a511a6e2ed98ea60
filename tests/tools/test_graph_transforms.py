"""Transformed graphs: they compute the same.

Unsupported transforms raise errors with their names.
"""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.tools.graph_transforms import TransformGraph


def weights(*shape):
    return np.random.RandomState(sum(shape)).uniform(0.1, 1, shape).astype(np.float32)


def small_network():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1, 6, 6, 2], "x")
        h = tf.nn.conv2d(x, tf.constant(weights(3, 3, 2, 40)), [1] * 4, "SAME")
        statistics = [tf.constant(weights(40)) for _ in range(4)]
        h = tf.raw_ops.FusedBatchNorm(
            x=h, scale=statistics[0], offset=statistics[1], mean=statistics[2],
            variance=statistics[3], is_training=False,
        )[0]  # fmt: skip
        h = tf.identity(tf.nn.relu(h)) * tf.exp(tf.constant(0.5) + 1.0)
        tf.reduce_mean(h, [1, 2], name="y")
    return graph.as_graph_def()


def run(graph_def):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        x = np.random.RandomState(0).uniform(-1, 1, (1, 6, 6, 2))
        return session.run("y:0", {"x:0": x})


@pytest.mark.parametrize(("transforms", "tolerance"), [
    (["strip_unused_nodes"], 1e-6),
    (["fold_constants(ignore_errors=true)", "fold_constants"], 1e-6),
    (["fold_old_batch_norms"], 1e-5),
    (["remove_nodes(op=Identity, op=CheckNumerics)", "merge_duplicate_nodes"], 1e-6),
    (["quantize_weights", "sort_by_execution_order"], 2e-2),
    (["round_weights(num_steps=256)"], 2e-2),
    (["add_default_attributes", "strip_unused_nodes", "remove_nodes(op=Identity)",
      "fold_constants", "fold_batch_norms", "fold_old_batch_norms", "obfuscate_names"], 1e-5),
])  # fmt: skip
def test_answers_stay(transforms, tolerance):
    graph_def = small_network()
    changed = TransformGraph(graph_def, ["x"], ["y"], transforms)
    np.testing.assert_allclose(run(changed), run(graph_def), rtol=tolerance)


def test_batch_norms_are_gone():
    changed = TransformGraph(small_network(), ["x"], ["y"], ["fold_old_batch_norms"])
    assert "FusedBatchNorm" not in {node.op for node in changed.node}


def test_the_given_graph_stays_as_it_is():
    graph_def = small_network()
    before = graph_def.SerializeToString(deterministic=True)
    TransformGraph(graph_def, ["x"], ["y"], ["fold_constants", "obfuscate_names"])
    assert graph_def.SerializeToString(deterministic=True) == before


def test_transforms_that_lack_are_named():
    with pytest.raises(tf.errors.UnimplementedError, match="transform quantize_nodes is not supp"):
        TransformGraph(small_network(), ["x"], ["y"], ["quantize_nodes"])


def test_errors_are_ignored_where_that_is_asked_for():
    graph_def = small_network()
    with pytest.raises(tf.errors.NotFoundError, match="unable to find feed output nowhere"):
        TransformGraph(graph_def, ["nowhere"], ["y"], ["fold_constants"])
    same = TransformGraph(graph_def, ["nowhere"], ["y"], ["fold_constants(ignore_errors=true)"])
    assert [node.name for node in same.node] == [node.name for node in graph_def.node]
