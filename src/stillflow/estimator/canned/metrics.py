"""Metrics of classifiers and regressors over `tf.metrics`, with the scopes that heads give them."""

from __future__ import annotations

from typing import Any

from stillflow.estimator.canned.keys import MetricKeys
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.losses.weights import broadcast_weights
from stillflow.metrics.curves import auc
from stillflow.metrics.means import accuracy, mean
from stillflow.metrics.thresholds import precision_at_thresholds, recall_at_thresholds
from stillflow.ops.arrays.shape import squeeze
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import to_float
from stillflow.ops.math.comparison import greater_equal


def weights_like(values: Any, weights: Any) -> Any:
    """Return the weights in the shape of the values; None for none."""
    return None if weights is None else broadcast_weights(weights, values)


def mean_of(values: Any, weights: Any, name: str, part: str) -> tuple[Tensor, Tensor]:
    """Return the weighted mean of `values`, whose float form is named `part`."""
    with name_scope(name, f"{part}_mean", (values, weights)) as scope:
        values = to_float(values, name=part)
        return mean(values, weights=weights_like(values, weights), name=scope)


def baseline_accuracy(label_mean: Any) -> tuple[Tensor, Tensor]:
    """Return the accuracy of always answering the more frequent of two classes."""
    with name_scope(None, "accuracy_baseline", label_mean):
        value, update = label_mean
        return (
            maximum(value, 1.0 - value, name="value"),
            maximum(update, 1 - update, name="update_op"),
        )


def area_under_curve(
    labels: Any, predictions: Any, weights: Any, name: str, curve: str = "ROC"
) -> tuple[Tensor, Tensor]:
    """Return the area under the ROC or precision-recall curve."""
    with name_scope(name, "auc", (predictions, labels, weights)) as scope:
        predictions = to_float(predictions, name="predictions")
        weights = weights_like(predictions, weights)
        return auc(labels=labels, predictions=predictions, weights=weights, curve=curve, name=scope)


def at_threshold(labels: Any, predictions: Any, weights: Any, threshold: float) -> dict[str, Any]:
    """Return accuracy, precision and recall of predictions of at least `threshold`."""
    values = (predictions, labels, weights, threshold)
    key = MetricKeys.ACCURACY_AT_THRESHOLD % threshold
    with name_scope(key, f"accuracy_at_{threshold}", values) as scope:
        predicted = to_float(greater_equal(predictions, threshold))
        found = {key: accuracy(labels=labels, predictions=predicted, weights=weights, name=scope)}
    for pattern, metric in (
        (MetricKeys.PRECISION_AT_THRESHOLD, precision_at_thresholds),
        (MetricKeys.RECALL_AT_THRESHOLD, recall_at_thresholds),
    ):
        key = pattern % threshold
        with name_scope(key, None, values) as scope:
            value, update = metric(
                labels=labels, predictions=predictions, thresholds=(threshold,), weights=weights,
                name=scope,
            )  # fmt: skip
            found[key] = (squeeze(value), squeeze(update))
    return found
