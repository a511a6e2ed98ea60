"""Forests: the order of new leaves, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.variables.resource import destroy_resource_op
from stillflow_contrib.ops.tensor_forest.examples import Examples, Specification
from stillflow_contrib.ops.tensor_forest.hash_order import hash_order
from stillflow_contrib.ops.tensor_forest.parameters import parameters_of
from stillflow_contrib.ops.tensor_forest.splits import Split
from stillflow_contrib.ops.tensor_forest.tree import Tree
from stillflow_contrib.tensor_forest import stats_ops
from stillflow_contrib.tensor_forest.tensor_forest import ForestHParams, RandomForestGraphs


@pytest.mark.parametrize(
    "given, walked",
    [
        ([3, 6, 5, 4], [4, 5, 3, 6]),
        ([5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 5, 4]),
        ([14, 12, 13, 11, 7, 10, 9], [9, 12, 14, 7, 13, 11, 10]),
        (range(20), [19, 18, 17, 16, 5, 4, 3, 2, 0, 1, *range(6, 16)]),
    ],
)
def test_sets_are_walked_as_tensorflow_walks_them(given: Any, walked: list[int]) -> None:
    # ProcessInputV4 of TensorFlow 1.15.5 gave these for leaves that were finished in this order.
    assert hash_order(given) == walked


pytestmark = pytest.mark.usefixtures("graph")


def graphs(**others: Any) -> RandomForestGraphs:
    settings = {"num_classes": 2, "num_features": 3, "num_trees": 1, "split_after_samples": 4}
    return RandomForestGraphs(ForestHParams(**{**settings, **others}).fill())


def begun() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run([each.create for each in tf.get_collection("resources")])
    return session


POINTS = np.random.RandomState(0).rand(40, 3).astype(np.float32)


@pytest.mark.parametrize("label, words", [(2, "Got label greater"), (-1, "negative label")])
def test_labels_must_be_classes(label: int, words: str) -> None:
    train = graphs().training_graph(tf.constant(POINTS), tf.fill([40], label))
    with begun() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(train)


def test_kinds_that_tensorflow_lost_are_refused_by_name() -> None:
    train = graphs(model_name="sparse_then_dense").training_graph(POINTS, tf.zeros([40]))
    assert train.name == "train"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"SPARSE\w+ are not supported"):
        begun()


def test_a_forest_learns_and_is_dropped() -> None:
    forest = graphs(num_trees=4)
    labels = (POINTS[:, 0] > 0.5).astype(np.int32)
    train = forest.training_graph(tf.constant(POINTS), tf.constant(labels))
    said = forest.inference_graph(tf.constant(POINTS))[0]
    dropped = [destroy_resource_op(each) for each in forest.get_all_resource_handles()]
    with begun() as session:
        for _ in range(20):
            session.run(train)
        assert np.mean(np.argmax(session.run(said), 1) == labels) > 0.9
        session.run(dropped)
        with pytest.raises(tf.errors.NotFoundError, match="tree-0"):
            session.run(said)


def test_leaves_are_found_either_way(either_way: str) -> None:
    tree = Tree(parameters_of(graphs().params.serialized_params_proto), b"")
    points = np.round(4 * np.concatenate([POINTS, [[np.nan] * 3]])) / np.float32(4)
    compare = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal)
    last, ends = 0, np.zeros(len(points), np.int64)
    for kind, passes in enumerate(compare):
        split = Split(kind % 3, np.float32(0.5), kind)
        left, right = tree.split(last, split, *np.zeros((2, 2), np.float32))
        to_left = passes(points[:, kind % 3], 0.5)
        ends[ends == last] = np.where(to_left, left, right)[ends == last]
        last = right
    spec = Specification(b"dense_features_size: 3 dense: [] sparse: []")
    nothing = np.zeros(0, np.int64)
    examples = Examples(spec, points.astype(np.float32), nothing, nothing, nothing)
    assert tree.find(examples).tolist() == ends.tolist()


def test_final_shares_are_refused_for_classes() -> None:
    forest = graphs()
    one = forest.variables[0]
    final = stats_ops.finalize_tree(one.tree, one.stats, forest.params.serialized_params_proto)
    with begun() as session, pytest.raises(tf.errors.UnimplementedError, match="disabled"):
        session.run(final)


def test_a_feature_of_no_column_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="no specification"):
        Specification(b"dense: 3")
