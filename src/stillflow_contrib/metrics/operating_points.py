"""Metrics of a classifier at the threshold where another metric has a given value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.confusion import confusion_matrix_at_thresholds
from stillflow.metrics.curves import rates
from stillflow.metrics.thresholds import EPSILON, even_thresholds, from_counts
from stillflow.metrics.variables import Pair, collect
from stillflow.ops.math.division import div

if TYPE_CHECKING:
    from stillflow.variables.ref_variable import RefVariable


def _counts(
    labels: Any, predictions: Any, weights: Any, num_thresholds: int
) -> tuple[dict[str, RefVariable], dict[str, Tensor]]:
    """Return counts at evenly spaced thresholds, the outermost beyond 0 and 1."""
    thresholds = [0.0 - EPSILON, *even_thresholds(num_thresholds), 1.0 + EPSILON]
    return confusion_matrix_at_thresholds(labels, predictions, thresholds, weights, in_range=False)


@export("contrib.metrics.recall_at_precision", "contrib.slim.metrics.recall_at_precision")
def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> Pair:
    """Return the recall at the threshold whose precision is closest to a given one.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, float32 of the shape of `labels`.
      precision: the precision to find, 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds are tried.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.
      strict_mode: whether the precision found must not be below `precision`; where there is
        none such, the recall is 0.

    Returns:
      The recall, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: if `precision` is not from 0 to 1 or the shapes do not fit.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")

    def recall(tp: Any, fp: Any, fn: Any, name: str) -> Tensor:
        def at(index: Any) -> Tensor:
            return div(tp[index], tp[index] + fn[index] + EPSILON, name)

        precisions: Any = div(tp, tp + fp + EPSILON)
        if not strict_mode:
            return at(tf.argmin(tf.abs(precisions - precision), 0, output_type=tf.int32))
        # The least difference that is not negative has the greatest reciprocal.
        closeness = div(1.0, precisions - precision + EPSILON)
        best = tf.argmax(closeness, 0, output_type=tf.int32)
        return tf.cond(precisions[best] >= precision, lambda: at(best), lambda: 0.0)

    with tf.variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        counts = _counts(labels, predictions, weights, num_thresholds)
        order = ("tp", "fp", "fn")
        return from_counts(recall, order, counts, metrics_collections, updates_collections)


@export("contrib.metrics.precision_at_recall", "contrib.slim.metrics.precision_at_recall")
def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the precision at the highest threshold whose recall is at least a given one.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, float32 of the shape of `labels`.
      target_recall: the recall to reach, 0 to 1.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds are tried.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The precision, a float32 scalar, and the operation that updates it.

    Raises:
      RuntimeError: if eager execution is enabled.
      ValueError: if `target_recall` is not from 0 to 1 or the shapes do not fit.
    """
    if tf.executing_eagerly():
        raise RuntimeError(
            "tf.metrics.precision_at_recall is not supported when eager execution is enabled."
        )
    if target_recall < 0 or target_recall > 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")

    def precision(tp: Any, fp: Any, fn: Any, name: str) -> Tensor:
        recalls = div(tp, tp + fn + EPSILON)
        # Recall falls as thresholds rise, so those that reach the target come first.
        enough = tf.cast(tf.greater_equal(recalls, target_recall), tf.int64)
        best: Any = tf.reduce_sum(enough) - 1
        return div(tp[best] + EPSILON, tp[best] + fp[best] + EPSILON, name)

    with tf.variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        counts = _counts(labels, predictions, weights, num_thresholds)
        order = ("tp", "fp", "fn")
        return from_counts(precision, order, counts, metrics_collections, updates_collections)


@export("contrib.metrics.streaming_curve_points", "contrib.slim.metrics.streaming_curve_points")
def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the points of a curve of two rates, one for each threshold.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, float32 of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many points there are.
      metrics_collections, updates_collections: where the results are added.
      curve: "ROC" (recall over false positives) or "PR" (precision over recall).
      name: of the variables' scope.

    Returns:
      The points, float32 `[num_thresholds, 2]`, and the operation that updates them.

    Raises:
      ValueError: for another curve, or shapes that do not fit.
    """
    with tf.variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        counts, updates = _counts(labels, predictions, weights, num_thresholds)
        points = tf.stack(rates(curve, **counts), axis=1)
        update = tf.group(*updates.values())
        return collect(metrics_collections, points), collect(updates_collections, update)
