"""The area under a curve with a threshold at every score that there was."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align
from stillflow.metrics.variables import collect
from stillflow_contrib.metrics.concatenation import streaming_concat


def assert_binary(labels: Any) -> list[Any]:
    """Return assertions that labels are 0 or 1."""
    low, high = (f"labels must be 0 or 1, at least one is {which}" for which in ("<0", ">1"))
    return [
        tf.assert_greater_equal(labels, tf.zeros_like(labels, tf.int64), message=low),
        tf.assert_less_equal(labels, tf.ones_like(labels, tf.int64), message=high),
    ]


def _where_else_zero(condition: Any, values: Any, like: Any) -> Tensor:
    return tf.where(condition, values, tf.zeros_like(like, dtype=tf.float64))


def _sums_before(values: Any) -> Tensor:
    """Return the sums of the first 0, 1, ... all elements."""
    return tf.pad(tf.cumsum(values), paddings=[[1, 0]])


def _area_of_all(labels: Any, predictions: Any, curve: str, weights: Any) -> Tensor:
    size = tf.size(predictions)
    if weights is None:
        weights = tf.ones_like(labels, dtype=tf.float64)
    labels, predictions, weights = align(labels, predictions, weights)
    total: Any = tf.reduce_sum(weights)
    positive = tf.reduce_sum(_where_else_zero(tf.greater(labels, 0), weights, labels))

    def area() -> Tensor:
        ordered, indices = tf.nn.top_k(predictions, k=size)
        truth, weight = tf.gather(labels, indices), tf.gather(weights, indices)
        counts = tf.unique_with_counts(ordered).count
        # Where one score ends and the next begins: equal scores are passed in one step.
        splits = tf.cast(_sums_before(counts), tf.int32)
        hits_by_row = _sums_before(_where_else_zero(tf.greater(truth, 0), weight, truth))
        hits = tf.gather(hits_by_row, splits)
        if curve == "ROC":
            misses = _sums_before(_where_else_zero(tf.less(truth, 1), weight, truth))
            false_alarms = tf.gather(misses, splits)
            x: Any = tf.truediv(false_alarms, total - positive)
            y: Any = tf.truediv(hits, positive)
        else:
            x = tf.truediv(hits, positive)
            positives = tf.gather(_sums_before(weight), splits)
            y = tf.where(
                tf.greater(splits, 0),
                tf.truediv(hits, positives),
                tf.ones_like(hits, dtype=tf.float64),
            )
        height: Any = tf.add(y[1:], y[:-1]) / 2.0
        width = tf.abs(tf.subtract(x[1:], x[:-1]))
        return tf.reduce_sum(tf.multiply(height, width))

    one_sided = tf.logical_or(tf.equal(positive, 0), tf.equal(positive, total))
    return tf.cond(one_sided, lambda: tf.constant(0, tf.float64), area)


@export("contrib.metrics.streaming_dynamic_auc", "contrib.slim.metrics.streaming_dynamic_auc")
def streaming_dynamic_auc(
    labels: Any,
    predictions: Any,
    curve: str = "ROC",
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """Return the area under a curve with a threshold at each score; all scores are kept for it.

    Args:
      labels: 0 or 1, of any shape.
      predictions: numbers, of the shape of `labels`.
      curve: "ROC" (recall over false positives) or "PR" (precision over recall).
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.
      weights: of the shape of `labels`; 1 by default.

    Returns:
      The area, a float64 scalar, 0 while all labels are equal, and the operation that updates it.

    Raises:
      ValueError: for another curve, or shapes that do not fit.
      InvalidArgumentError: when run, for other labels.
    """
    if curve not in ["PR", "ROC"]:
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with tf.variable_scope(name, default_name="dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        predictions = tf.reshape(tf.cast(predictions, tf.float64), [-1])
        labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
        with tf.control_dependencies(assert_binary(labels)):
            all_predictions, add_predictions = streaming_concat(predictions, name="concat_preds")
            all_labels, add_labels = streaming_concat(labels, name="concat_labels")
            updates, all_weights = [add_labels, add_predictions], None
            if weights is not None:
                weights = tf.reshape(tf.cast(weights, tf.float64), [-1])
                all_weights, add_weights = streaming_concat(weights, name="concat_weights")
                updates.append(add_weights)
            update = tf.group(*updates)
            area = _area_of_all(all_labels, all_predictions, curve, all_weights)
            collect(updates_collections, update)
            return collect(metrics_collections, area), update
