"""Ensembles of trees that are not what they should be, and what is close to a tie."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.boosted_trees.ensemble import MESSAGES
from stillflow.ops.boosted_trees.gains import first_best, vectors_and_gains, weights_and_gains

pytestmark = pytest.mark.usefixtures("graph")


def ensemble(*nodes):
    message = MESSAGES["TreeEnsemble"]()
    tree = message.trees.add()
    for node in nodes:
        tree.nodes.add(**node)
    message.tree_weights.append(1.0)
    message.tree_metadata.add()
    return message.SerializeToString()


def split(left, right, feature=0, kind="bucketized_split"):
    return {kind: {"feature_id": feature, "left_id": left, "right_id": right}}


def leaf(value=0.0):
    return {"leaf": {"scalar": value}}


def predict(serialized, features, width=1):
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(container="", shared_name="trees")
    create = tf.raw_ops.BoostedTreesCreateEnsemble(
        tree_ensemble_handle=handle, stamp_token=0, tree_ensemble_serialized=serialized
    )
    logits = tf.raw_ops.BoostedTreesPredict(
        tree_ensemble_handle=handle, bucketized_features=features, logits_dimension=width
    )
    with tf.Session() as session:
        session.run(create)
        return session.run(logits).tolist()


def test_walks_through_trees():
    trees = ensemble(split(1, 2), leaf(1.5), leaf(-2.0))
    assert predict(trees, [[0, 3]]) == [[1.5], [-2.0]]
    assert predict(b"", [[0, 3]]) == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("nodes", "width", "match"),
    [
        ([split(0, 1), leaf()], 1, "has a cycle"),
        ([split(1, 9), leaf()], 1, "missing node"),
        ([split(1, 2, feature=3), leaf(), leaf()], 1, "uses? feature 3"),
        ([split(1, 2, kind="dense_split"), leaf(), leaf()], 1, "dense_split are not supported"),
        ([split(1, 2), leaf(), {"leaf": {"vector": {"value": [1.0, 2.0]}}}], 1, "different"),
        ([leaf()], 2, "Expected leaf_logits.size"),
    ],
)  # fmt: skip
def test_refuses_broken_trees(nodes, width, match):
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.InternalError), match=match):
        predict(ensemble(*nodes), [[0, 1]], width)


def test_refuses_what_is_no_ensemble():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse tree ensemble"):
        predict(b"nothing", [[0]])


def test_many_examples_walk_in_blocks(monkeypatch):
    monkeypatch.setattr("stillflow.ops.boosted_trees.forest._PAIRS", 7)
    trees = ensemble(split(1, 2), leaf(1.0), leaf(2.0))
    assert predict(trees, [[0, 1] * 20]) == [[1.0], [2.0]] * 20


def test_the_first_of_equal_gains_is_the_best():
    gains = np.float32([[1, 1, 0], [0, 1e-20, 2e-20], [np.nan, 2, 3], [np.nan] * 3])
    assert first_best(gains, 1e-15).tolist() == [0, 0, 2, -1]


def test_weights_of_several_logits_agree_with_those_of_one():
    gradients, hessians = np.float32([[0.5], [-2.0]]), np.float32([[2.0], [0.0]])
    zero, l2 = np.float32(0), np.float32(0.25)
    plain = weights_and_gains(gradients[:, 0], hessians[:, 0], zero, l2)
    twice = [np.concatenate([each, each], 1) for each in (gradients, hessians)]
    weights, gains = vectors_and_gains(*twice, zero, l2)
    np.testing.assert_allclose(weights[:, 1], plain[0], rtol=1e-6)
    np.testing.assert_allclose(gains, 2 * plain[1], rtol=1e-6)
    full = np.stack([np.diag(row).ravel() for row in twice[1]])
    of_full = vectors_and_gains(twice[0], full, zero, l2)
    np.testing.assert_allclose(of_full[0], weights, rtol=1e-5)


def test_a_hessian_without_inverse_has_the_shortest_weight():
    weights, _ = vectors_and_gains(
        np.float32([[1.0, 0.0]]), np.float32([[2.0, 0.0]]), np.float32(0), np.float32(0)
    )
    np.testing.assert_allclose(weights, [[-0.5, 0.0]], rtol=1e-6)
