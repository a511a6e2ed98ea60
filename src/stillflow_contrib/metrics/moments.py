"""Counts, covariances and correlations of values over several batches."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.metrics.alignment import align, float_weights
from stillflow.metrics.variables import Pair, collect, metric_variable, read, value_and_update
from stillflow_contrib.metrics.renamed import streaming_mean


@export("contrib.metrics.count", "contrib.slim.metrics.count")
def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the number of values so far, or the sum of their weights.

    Args:
      values: of any shape.
      weights: broadcast to `values`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variable's scope.

    Returns:
      The count, a float32 scalar, and the operation that updates it.

    Raises:
      RuntimeError: if eager execution is enabled.
      ValueError: if the shapes do not fit.
    """
    if tf.executing_eagerly():
        raise RuntimeError(
            "tf.contrib.metrics.count is not supported when eager execution is enabled."
        )
    with tf.variable_scope(name, "count", (values, weights)):
        total = metric_variable([], tf.float32, name="count")
        if weights is None:
            in_batch = tf.cast(tf.size(values), tf.float32)
        else:
            values, _, weights = align(tf.cast(values, tf.float32), None, weights)
            in_batch = tf.reduce_sum(float_weights(weights, values))
        with tf.control_dependencies([values]):
            update = tf.assign_add(total, in_batch)
        return read(total, metrics_collections), collect(updates_collections, update)


def _moved_mean(mean: Any, weighted: Any, in_batch: Any, counted: Any) -> tuple[Any, Any]:
    """Move a mean by a batch.

    Returns:
      The mean of the batch, and the mean that there was before it.
    """
    batch_mean = tf.div_no_nan(tf.reduce_sum(weighted), in_batch)
    step = tf.div_no_nan((batch_mean - mean) * in_batch, counted)
    return batch_mean, tf.assign_add(mean, step) - step


def _sample_covariance(comoment: Any, counted: Any, name: str) -> Tensor:
    few = tf.less_equal(counted, 1.0)
    return tf.where(few, float("nan"), tf.truediv(comoment, counted - 1), name=name)


def _moved_comoment(
    comoment: Any, means: Any, counted: Any, predictions: Any, labels: Any, weights: Any
) -> Tensor:
    """Add a batch to the sum of products of deviations from the means.

    The batch's own sum is about its own means; the last term moves it to the means of all.
    """
    if weights is None:
        in_batch = tf.cast(tf.size(labels), tf.float32)
        weighted = [predictions, labels]
    else:
        weights = broadcast_weights(weights, labels)
        in_batch = tf.reduce_sum(weights)
        weighted = [tf.multiply(values, weights) for values in (predictions, labels)]
    update_count = tf.assign_add(counted, in_batch)
    count_before = update_count - in_batch
    (mean_prediction, prediction_before), (mean_label, label_before) = (
        _moved_mean(mean, values, in_batch, update_count)
        for mean, values in zip(means, weighted, strict=True)
    )
    products = (predictions - mean_prediction) * (labels - mean_label)
    batch_comoment = tf.reduce_sum(products if weights is None else products * weights)
    shift = (prediction_before - mean_prediction) * (label_before - mean_label)
    shift *= count_before * in_batch / update_count
    return tf.assign_add(comoment, batch_comoment + shift)


@export("contrib.metrics.streaming_covariance", "contrib.slim.metrics.streaming_covariance")
def streaming_covariance(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the unbiased sample covariance of predictions and labels.

    Args:
      predictions: float32, of any shape.
      labels: float32, of the shape of `predictions`.
      weights: broadcast to `labels`, as if values were repeated so often; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The covariance, a float32 scalar that is nan up to the second value, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = align(predictions, labels, weights)
        counted, *means, comoment = (
            metric_variable([], tf.float32, name=variable)
            for variable in ("count", "mean_prediction", "mean_label", "comoment")
        )
        update_comoment = _moved_comoment(comoment, means, counted, predictions, labels, weights)
        covariance = _sample_covariance(comoment, counted, "covariance")
        with tf.control_dependencies([update_comoment]):
            update = _sample_covariance(comoment, counted, "update_op")
    return collect(metrics_collections, covariance), collect(updates_collections, update)


def _correlation(covariance: Any, variance_1: Any, variance_2: Any, name: str) -> Tensor:
    deviations = tf.multiply(tf.sqrt(variance_1), tf.sqrt(variance_2))
    return tf.truediv(covariance, deviations, name=name)


@export(
    "contrib.metrics.streaming_pearson_correlation",
    "contrib.slim.metrics.streaming_pearson_correlation",
)
def streaming_pearson_correlation(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Pearson's coefficient of correlation of predictions and labels, -1 to 1.

    Args:
      predictions: float32, of any shape.
      labels: float32, of the shape of `predictions`.
      weights: broadcast to `labels`, as if values were repeated so often; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The coefficient, a float32 scalar that is nan up to the second value, and the operation that
      updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    with tf.variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = align(predictions, labels, weights)
        if weights is not None:
            weights = broadcast_weights(weights, labels)
        pairs = [
            streaming_covariance(predictions, labels, weights, name="covariance"),
            streaming_covariance(predictions, predictions, weights, name="variance_predictions"),
            streaming_covariance(labels, labels, weights, name="variance_labels"),
        ]
        values, updates = zip(*pairs, strict=True)
        names = ("pearson_r", "update_op")
        return value_and_update(
            _correlation, values, updates, metrics_collections, updates_collections, names
        )


@export(
    "contrib.metrics.streaming_mean_cosine_distance",
    "contrib.slim.metrics.streaming_mean_cosine_distance",
)
def streaming_mean_cosine_distance(
    predictions: Any,
    labels: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of 1 less the product of vectors of length 1.

    Args:
      predictions: float32, of any shape.
      labels: of the shape of `predictions`.
      dim: the axis of the vectors.
      weights: broadcast to `predictions` with one element along `dim`; 1 by default.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The mean, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if the shapes do not fit.
    """
    predictions, labels, weights = align(predictions, labels, weights)
    products = tf.reduce_sum(tf.multiply(predictions, labels), axis=[dim], keepdims=True)
    mean, update = streaming_mean(products, weights, None, None, name or "mean_cosine_distance")
    mean, update = tf.subtract(1.0, mean), tf.subtract(1.0, update)
    return collect(metrics_collections, mean), collect(updates_collections, update)
