"""Metrics outside of the recorded programs: weights, sparse labels, invalid arguments."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode


def evaluate(metric):
    """Return the value of a metric after one update, and what the update gave."""
    value, update = metric
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        updated = session.run(update)
        return session.run(value), updated


LABELS = [[True, False, True], [False, False, True]]
SCORES = [[0.9, 0.6, 0.2], [0.1, 0.7, 0.8]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("true_positives", [3.0, 4.0]),
        ("false_positives", [2.0, 3.0]),
        ("true_negatives", [3.0, 2.0]),
        ("false_negatives", [1.0, 0.0]),
        ("precision", [3 / 5, 4 / 7]),
        ("recall", [3 / 4, 1.0]),
    ],
)
def test_weights_count_rows_at_each_threshold(name, expected):
    thresholds, weights = [0.65, 0.15], [[1.0], [2.0]]
    metric = getattr(tf.metrics, f"{name}_at_thresholds")
    value, updated = evaluate(
        metric(tf.constant(LABELS), tf.constant(SCORES), thresholds, weights=weights)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(updated, expected, rtol=1e-6)


def test_labels_may_be_sparse_sets_of_classes():
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([0, 2, 1], np.int64), [2, 2])
    scores = tf.constant([[0.9, 0.5, 0.1], [0.3, 0.2, 0.8]])
    found = [
        evaluate(tf.metrics.precision_at_k(labels, scores, k=2))[0],
        evaluate(tf.metrics.recall_at_k(labels, scores, k=2))[0],
        evaluate(tf.metrics.recall_at_k(labels, scores, k=2, class_id=0))[0],
        evaluate(tf.metrics.average_precision_at_k(labels, scores, k=2))[0],
    ]
    np.testing.assert_allclose(found, [1 / 4, 1 / 3, 1.0, (1 / 2 + 0) / 2])


def test_labels_that_are_no_class_do_not_count_in_average_precision():
    scores = tf.constant([[0.9, 0.5, 0.1]])
    plain = evaluate(tf.metrics.average_precision_at_k(tf.constant([[0, -1]], tf.int64), scores, 2))
    beyond = evaluate(tf.metrics.average_precision_at_k(tf.constant([[0, 7]], tf.int64), scores, 2))
    assert plain == beyond == (1.0, 1.0)


@pytest.mark.parametrize(
    ("curve", "method", "expected"),
    [("ROC", "minoring", 0.75), ("ROC", "majoring", 1.0), ("ROC", "trapezoidal", 0.875)],
)
def test_areas_are_bounded_by_the_methods_that_say_so(curve, method, expected):
    labels, scores = tf.constant([0, 0, 1, 1]), tf.constant([0.0, 0.5, 0.3, 0.9])
    value, _ = evaluate(
        tf.metrics.auc(labels, scores, curve=curve, summation_method=method, thresholds=[0.2, 0.6])
    )
    np.testing.assert_allclose(value, expected, atol=1e-5)


def test_weights_of_unknown_rank_are_brought_to_the_rank_of_values():
    values, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    value, update = tf.metrics.mean(values, weights)
    with tf.Session() as session:
        for fed in (2.0, [1.0, 3.0], [[1.0], [3.0]]):
            session.run(tf.local_variables_initializer())
            session.run(update, {values: [[2.0], [4.0]], weights: fed})
            assert session.run(value) == (3.0 if fed == 2.0 else 3.5)


def test_predictions_outside_of_0_to_1_are_refused_when_run():
    _, update = tf.metrics.auc(tf.constant([1]), tf.placeholder_with_default([1.5], [1]))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"
        ):
            session.run(update)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: tf.metrics.auc(x, x, curve="F1"), "curve must be either ROC or PR, F1 unknown"),
        (lambda x: tf.metrics.auc(x, x, summation_method="half"), "Invalid summation_method: half"),
        (lambda x: tf.metrics.sensitivity_at_specificity(x, x, 1.5), r"`specificity` must be in"),
        (lambda x: tf.metrics.specificity_at_sensitivity(x, x, -1), r"`sensitivity` must be in"),
        (lambda x: tf.metrics.average_precision_at_k(x, x, 0), "Invalid k=0"),
        (lambda x: tf.metrics.recall_at_top_k(x, tf.ones([2, 3, 1, 1])), "Unexpected labels shape"),
        (lambda x: tf.metrics.true_positives(x, x, tf.ones([1, 1, 2, 3])), "must have rank in"),
    ],
)
def test_arguments_are_refused_in_the_words_of_tensorflow(make, message):
    with pytest.raises(ValueError, match=message):
        make(tf.ones([2, 3]))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mean", "mean"),
        ("true_positives", "true_positives"),
        ("recall_at_thresholds", "recall_at_thresholds"),
        ("precision_at_k", "sparse_precision_at_k"),
        ("sparse_average_precision_at_k", "sparse_average_precision_at_k"),
    ],
)
def test_eager_execution_refuses_metrics_by_name_before_it_looks_at_their_arguments(name, said):
    with eager_mode(), pytest.raises(RuntimeError, match=f"^tf.metrics.{said} is not supported"):
        getattr(tf.metrics, name)(object(), object(), object())
