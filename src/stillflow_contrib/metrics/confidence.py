"""The area under a ROC curve with a confidence interval."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.distributions.normal import Normal
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align
from stillflow.metrics.thresholds import EPSILON
from stillflow.metrics.variables import collect
from stillflow_contrib.metrics.concatenation import streaming_concat
from stillflow_contrib.metrics.dynamic_curves import assert_binary


class AucData(NamedTuple):
    """An area under a curve, and the confidence interval around it."""

    auc: Any
    lower: Any
    upper: Any


def _by_rising_score(
    labels: Any, predictions: Any, weights: Any, size: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Labels, weights and numbers of the distinct scores, by rising score."""
    falling = tf.nn.top_k(predictions, k=size, sorted=True)
    ordered, indices = (tf.reverse(each, axis=tf.zeros(1, tf.int32)) for each in falling)
    labels, weights = tf.gather(labels, indices), tf.gather(weights, indices)
    return labels, weights, tf.unique(ordered).idx


def _placements(labels: Any, weights: Any, segments: Any) -> Tensor:
    """Return the weight of the other class below each score, with half of equal scores.

    Args:
      labels, weights, segments: as of `_by_rising_score`.

    Returns:
      Shares of the other class's weight.
    """
    is_1 = tf.cast(labels, tf.float32)
    sides = (is_1, 1.0 - is_1)
    weights_1, weights_0 = [weights * side for side in sides]
    others = [tf.segment_sum(each, segments) for each in (weights_0, weights_1)]
    below = [tf.cumsum(each, exclusive=True) for each in others]
    shares = [
        (before + equal / 2.0) / (tf.reduce_sum(equal) + EPSILON)
        for before, equal in zip(below, others, strict=True)
    ]
    shares = [tf.gather(each, segments) for each in shares]
    return shares[0] * sides[0] + shares[1] * sides[1]


def _area_and_error(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any]:
    """Return the area, from the placements of the class of less weight, and its standard error."""
    size = tf.size(predictions, out_type=tf.int32)
    total_0: Any = tf.reduce_sum(tf.cast(1 - labels, weights.dtype) * weights)
    total_1: Any = tf.reduce_sum(tf.cast(labels, weights.dtype) * weights)
    labels, rising_weights, segments = _by_rising_score(labels, predictions, weights, size)
    placements = _placements(labels, rising_weights, segments)
    dtype = weights.dtype
    placements_0 = placements * tf.cast(1 - labels, dtype)
    weights_0 = rising_weights * tf.cast(1 - labels, dtype)
    placements_1 = placements * tf.cast(labels, dtype)
    weights_1 = rising_weights * tf.cast(labels, dtype)
    area_0: Any = tf.reduce_sum(weights_0 * (1.0 - placements_0)) / (total_0 + EPSILON)
    area_1: Any = tf.reduce_sum(weights_1 * placements_1) / (total_1 + EPSILON)
    area = tf.where(tf.less(total_0, total_1), area_1, area_0)
    squares_0 = tf.reduce_sum(weights_0 * tf.square(1.0 - placements_0 - area_0))
    variance_0: Any = squares_0 / (total_0 - 1.0 + EPSILON)
    squares_1 = tf.reduce_sum(weights_1 * tf.squared_difference(placements_1, area_1))
    variance_1: Any = squares_1 / (total_1 - 1.0 + EPSILON)
    error = tf.sqrt(variance_0 / (total_0 + EPSILON) + variance_1 / (total_1 + EPSILON))
    return area, error


def _logistic(x: Any) -> Tensor:
    """Return the inverse of the logit, kept off a division by 0 in the way of the logit here."""
    inverse: Any = tf.exp(tf.negative(x))
    return 1.0 / (1.0 + inverse + EPSILON)


def _unless_certain(area: Any, bound: Any) -> Tensor:
    """Return the bound, or the area where it is 0 or 1."""
    certain = tf.logical_or(tf.equal(area, tf.ones_like(area)), tf.equal(area, tf.zeros_like(area)))
    return tf.where(certain, area, bound)


def _interval(area: Any, error: Any, alpha: float, logit_transformation: bool) -> tuple[Any, Any]:
    below = Normal(loc=0.0, scale=1.0).quantile((1.0 - alpha) / 2.0)
    if logit_transformation:
        estimate: Any = tf.log(area / (1.0 - area + EPSILON))
        error = error / (area * (1.0 - area + EPSILON))
        lower, upper = estimate + below * error, estimate - below * error
        lower, upper = _logistic(lower), _logistic(upper)
    else:
        lower, upper = area + below * error, area - below * error
    return _unless_certain(area, lower), _unless_certain(area, upper)


def _area_with_interval(
    labels: Any, predictions: Any, weights: Any, alpha: float, transformed: bool, is_valid: Any
) -> AucData:
    area, error = _area_and_error(labels, predictions, weights)
    lower, upper = _interval(area, error, alpha, transformed)
    zero = tf.constant(0.0)
    return AucData(*tf.cond(is_valid, lambda: [area, lower, upper], lambda: [zero] * 3))


@export(
    "contrib.metrics.auc_with_confidence_intervals",
    "contrib.slim.metrics.auc_with_confidence_intervals",
)
def auc_with_confidence_intervals(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    alpha: float = 0.95,
    logit_transformation: bool = True,
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
) -> tuple[AucData, Any]:
    """Return the area under the ROC curve with DeLong's confidence interval.

    All scores are kept for it.

    Args:
      labels: 0 or 1, of any shape.
      predictions: numbers, of the shape of `labels`.
      weights: of the shape of `labels`; 1 by default.
      alpha: how sure it is that the area lies in the interval, 0 to 1.
      logit_transformation: whether the interval is that of the area's logit, and so between 0
        and 1.
      metrics_collections, updates_collections: where the results are added.
      name: of the variables' scope.

    Returns:
      The area and the interval's ends, scalars that are 0 while all labels of a batch are equal
      or its weights sum to less than 1; and the operation that updates them.

    Raises:
      ValueError: if `alpha` is not between 0 and 1 or shapes do not fit.
      InvalidArgumentError: when run, for other labels.
    """
    if not (alpha > 0 and alpha < 1):
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = tf.ones_like(predictions)
    with tf.variable_scope(
        name, "auc_with_confidence_intervals", values=[labels, predictions, weights]
    ):
        predictions, labels, weights = align(predictions, labels, weights)
        total_weight = tf.reduce_sum(weights)
        weights = tf.reshape(weights, [-1])
        predictions = tf.reshape(tf.cast(predictions, tf.float64), [-1])
        labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
        with tf.control_dependencies(assert_binary(labels)):
            batch = {"preds": predictions, "labels": labels, "weights": weights}
            kept = {
                kind: streaming_concat(each, name=f"concat_{kind}") for kind, each in batch.items()
            }
            ordered = [kept[kind] for kind in ("labels", "preds", "weights")]
            add_batch = tf.group(*(update for _, update in ordered))
            limits = (tf.reduce_min, 0), (tf.reduce_max, 1)
            both_classes = tf.logical_and(*(tf.equal(of(labels), limit) for of, limit in limits))
            enough = tf.greater_equal(total_weight, 1.0)
            is_valid = tf.logical_and(both_classes, enough)
            update = tf.cond(enough, lambda: add_batch, tf.no_op)
            every_label, score, weight = (values for values, _ in ordered)
            area = _area_with_interval(
                every_label, score, weight, alpha, logit_transformation, is_valid
            )
            collect(updates_collections, update)
            return collect(metrics_collections, area), update
