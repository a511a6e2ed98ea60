"""Metrics under the names of `tf.contrib.metrics`."""

from __future__ import annotations

import inspect

import pytest

import stillflow as tf


def test_predictions_come_before_labels() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        hits, update = tf.contrib.metrics.streaming_recall(
            tf.constant([1, 0, 0]), tf.constant([1, 1, 0])
        )
        session.run(tf.local_variables_initializer())
        session.run(update)
        assert session.run(hits) == 0.5


def test_signatures_are_those_of_the_old_functions() -> None:
    auc = inspect.signature(tf.contrib.metrics.streaming_auc)
    assert list(auc.parameters) == [
        *("predictions", "labels", "weights", "num_thresholds", "metrics_collections"),
        *("updates_collections", "curve", "name"),
    ]
    assert auc.parameters["num_thresholds"].default == 200


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(TypeError, match="labels"):
        tf.contrib.metrics.streaming_accuracy(tf.constant([1]))


def test_slim_has_the_same_functions() -> None:
    for name in dir(tf.contrib.metrics):
        assert getattr(tf.contrib.slim.metrics, name) is getattr(tf.contrib.metrics, name)
