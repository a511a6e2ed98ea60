"""Boosted trees over several workers, and the names that other code imports."""

from __future__ import annotations

import json

import numpy as np
import pytest

import stillflow as tf
from stillflow.estimator.trees.explaining import by_column, feature_importances
from stillflow.facade.lookup import lookup


@pytest.fixture(autouse=True)
def graph():
    try:
        with tf.Graph().as_default():
            yield
    finally:
        tf.disable_resource_variables()


def classifier(**options):
    column = tf.feature_column.numeric_column("x")
    buckets = tf.feature_column.bucketized_column(column, [1.0, 2.0])
    return tf.estimator.BoostedTreesClassifier([buckets], 1, n_trees=2, max_depth=2, **options)


def spec(estimator):
    features, labels = {"x": tf.constant([0.5, 1.5, 2.5])}, tf.constant([0, 1, 1])
    return estimator.model_fn(features, labels, "train", estimator.config)


def test_workers_have_a_copy_of_the_ensemble(monkeypatch, tmp_path):
    cluster = {"chief": ["a:1"], "ps": ["b:1"], "worker": ["c:1"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    spec(classifier(config=tf.estimator.RunConfig(str(tmp_path))))
    made = [op.name for op in tf.get_default_graph().get_operations()
            if op.type == "BoostedTreesEnsembleResourceHandleOp"]  # fmt: skip
    assert made == ["boosted_trees", "boosted_trees/boosted_trees/_local"]
    with pytest.raises(ValueError, match="only for non-distributed"):
        spec(classifier(config=tf.estimator.RunConfig(str(tmp_path)), train_in_memory=True))


def test_all_examples_are_one_batch_in_memory():
    column = tf.feature_column.numeric_column("x")
    estimator = tf.estimator.BoostedTreesRegressor([column], 2, train_in_memory=True)
    with pytest.raises(AssertionError, match="n_batches_per_layer should be set as"):
        spec(estimator)


def test_importances_need_trees():
    with pytest.raises(ValueError, match="empty serialized string"):
        feature_importances(b"", ["x"], False)
    assert list(by_column(["a", "b", "a"], [1.0, -5.0, 2.0]).items()) == [("b", -5.0), ("a", 3.0)]


def test_learns_what_is_easy():
    estimator = classifier(learning_rate=1.0)
    x = np.float32([0.5, 1.5, 2.5, 0.7])

    def batch():
        return {"x": tf.constant(x)}, tf.constant([0, 1, 1, 0])

    estimator.train(batch)
    assert estimator.evaluate(batch, steps=1)["accuracy"] == 1.0
    assert estimator.get_variable_value("global_step") == 4
    assert estimator.experimental_feature_importances(normalize=True) == {"x_bucketized": 1.0}


def test_internal_modules_have_them():
    operations = "tensorflow.python.ops.boosted_trees_ops"
    assert lookup(operations, "PruningMode").from_str("post") == 2
    assert lookup(operations, "TreeEnsemble") and lookup(operations, "update_ensemble")
    canned = "tensorflow.python.estimator.canned.boosted_trees"
    assert lookup(canned, "BoostedTreesClassifier") is tf.estimator.BoostedTreesClassifier
