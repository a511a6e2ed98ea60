"""Metrics of heads."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.platform import tf_logging as logging


def _as_float(weights: Any) -> Tensor | None:
    if weights is None:
        return None
    with tf.name_scope(None, "float_weights", (weights,)) as name:
        return tf.cast(weights, tf.float32, name=name)


def _of_class(weights: Any, like: Any, class_id: int | None) -> Tensor | None:
    """Weights that fit a tensor, or its column of a class."""
    weights = _as_float(weights)
    if weights is None:
        return None
    weights = broadcast_weights(weights, like)
    return weights if class_id is None else weights[:, class_id]


def mean(values: Any, weights: Any = None, class_id: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean of predictions or labels, or of those of a class."""
    values = tf.cast(values, tf.float32)
    weights = _of_class(weights, values, class_id)
    return tf.metrics.mean(values if class_id is None else values[:, class_id], weights)


def share_of_class(classes: Any, weights: Any, class_id: int) -> tuple[Tensor, Tensor]:
    """Return the share of a class among predictions or labels."""
    is_class = tf.equal(tf.cast(class_id, tf.int32), tf.cast(classes, tf.int32))
    counted = tf.where(is_class, tf.ones_like(classes), tf.zeros_like(classes))
    return tf.metrics.mean(counted, weights=weights)


def auc(
    predictions: Any, labels: Any, weights: Any = None, class_id: int | None = None,
    curve: str = "ROC",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the area under a curve, or that of a class."""
    predictions = tf.cast(predictions, tf.float32)
    if labels.dtype.base_dtype != tf.bool:
        logging.warning("Casting %s labels to bool.", labels.dtype)
        labels = tf.cast(labels, tf.bool)
    weights = _of_class(weights, predictions, class_id)
    if class_id is not None:
        predictions, labels = predictions[:, class_id], labels[:, class_id]
    return tf.metrics.auc(labels, predictions, weights, curve=curve)


def accuracy_at_threshold(
    predictions: Any, labels: Any, weights: Any, threshold: float
) -> tuple[Tensor, Tensor]:
    """Return the share of labels that equal predictions above a threshold."""
    above = tf.cast(tf.greater_equal(predictions, threshold), tf.float32)
    return tf.metrics.accuracy(labels, above, weights)


def at_threshold(
    metric: Any, predictions: Any, labels: Any, weights: Any, threshold: float
) -> tuple[Tensor, Tensor]:
    """Return a metric of several thresholds, such as precision or recall, at one."""
    value, update = metric(labels, predictions, (threshold,), _as_float(weights))
    return tf.squeeze(value), tf.squeeze(update)
