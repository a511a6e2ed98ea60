"""Precision and recall at equally spaced thresholds, in time that does not grow with these."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.metrics.alignment import align
from stillflow.metrics.thresholds import EPSILON
from stillflow.metrics.variables import metric_variable


class PrecisionRecallData(NamedTuple):
    """Counts and their ratios at each threshold."""

    tp: Any
    fp: Any
    tn: Any
    fn: Any
    precision: Any
    recall: Any
    thresholds: Any


def _checked(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    message = "predictions must be in [0, 1]"
    low, high = (tf.assert_greater_equal, 0.0), (tf.assert_less_equal, 1.0)
    checks = [
        check(predictions, tf.cast(limit, dtype=predictions.dtype), message=message)
        for check, limit in (low, high)
    ]
    with tf.control_dependencies(checks):
        predictions, labels, weights = align(predictions, labels, weights)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels, weights


def _ratios(buckets: list[Any], dtype: Any, num_thresholds: int) -> PrecisionRecallData:
    """Return precision and recall from the weights of both labels in each bucket of scores."""
    tp: Any = tf.cumsum(buckets[0], reverse=True, name="tp")
    fp: Any = tf.cumsum(buckets[1], reverse=True, name="fp")
    tn, fn = fp[0] - fp, tp[0] - tp
    least = tf.convert_to_tensor(EPSILON, dtype=tf.float64)
    precision = tp / tf.maximum(least, tp + fp)
    recall = tp / tf.maximum(least, tp + fn)
    numbers = [tf.cast(each, dtype) for each in (tp, fp, tn, fn, precision, recall)]
    thresholds = tf.cast(tf.lin_space(0.0, 1.0, num_thresholds), dtype)
    return PrecisionRecallData._make([*numbers, thresholds])


@export(
    "contrib.metrics.precision_recall_at_equal_thresholds",
    "contrib.slim.metrics.precision_recall_at_equal_thresholds",
)
def precision_recall_at_equal_thresholds(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> tuple[PrecisionRecallData, Any]:
    """Count, and return precision and recall at thresholds from 0 to 1.

    Args:
      labels: the truth, bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`; yes from a threshold on.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds there are; 201 by default.
      use_locking: whether counts are added under a lock; True by default.
      name: of the variables' scope.

    Returns:
      `tp`, `fp`, `tn`, `fn`, `precision`, `recall` and `thresholds`, each of the type of
      `predictions` and the length `num_thresholds`; and the operation that updates them.

    Raises:
      TypeError: if `labels` are not bool.
      ValueError: if the shapes do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    num_thresholds = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    use_locking = True if use_locking is None else use_locking
    tf.assert_type(labels, tf.bool)
    scope = "precision_recall_at_equal_thresholds"
    with tf.variable_scope(name, scope, (labels, predictions, weights)):
        predictions, labels, weights = _checked(predictions, labels, weights)
        truth: Any = tf.cast(labels, tf.float64)
        weights = tf.cast(weights, tf.float64)
        shares = [truth * weights, (1.0 - truth) * weights]
        predictions = tf.reshape(predictions, [-1])
        shares = [tf.reshape(share, [-1]) for share in shares]
        indices = tf.cast(tf.floor(predictions * (num_thresholds - 1)), tf.int32)
        with tf.name_scope("variables"):
            buckets = [
                metric_variable([num_thresholds], tf.float64, name=variable)
                for variable in ("tp_buckets", "fp_buckets")
            ]
        with tf.name_scope("update_op"):
            updates = [
                tf.scatter_add(bucket, indices, share, use_locking=use_locking)
                for bucket, share in zip(buckets, shares, strict=True)
            ]
        ratios = _ratios(buckets, predictions.dtype, num_thresholds)
        return ratios, tf.group(*updates)
