"""Metrics of predictions with at least some probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.keys import MetricKeys


def metrics_at(thresholds: tuple[float, ...], key_of: Callable[[str], str]) -> dict[str, Any]:
    """Accuracy, precision and recall at each threshold, named as `key_of` says."""
    metrics = {}
    for threshold in thresholds:
        name = key_of(MetricKeys.ACCURACY_AT_THRESHOLD % threshold)
        metrics[name] = tf.keras.metrics.BinaryAccuracy(name=name, threshold=threshold)
        name = key_of(MetricKeys.PRECISION_AT_THRESHOLD % threshold)
        metrics[name] = tf.keras.metrics.Precision(name=name, thresholds=threshold)
        name = key_of(MetricKeys.RECALL_AT_THRESHOLD % threshold)
        metrics[name] = tf.keras.metrics.Recall(name=name, thresholds=threshold)
    return metrics


def update_at(
    metrics: dict[str, Any], thresholds: tuple[float, ...], key_of: Callable[[str], str],
    labels: Any, probabilities: Any, weights: Any,
) -> None:  # fmt: skip
    """Update those metrics by a batch."""
    for threshold in thresholds:
        for pattern in (
            MetricKeys.ACCURACY_AT_THRESHOLD,
            MetricKeys.PRECISION_AT_THRESHOLD,
            MetricKeys.RECALL_AT_THRESHOLD,
        ):
            metrics[key_of(pattern % threshold)].update_state(
                y_true=labels, y_pred=probabilities, sample_weight=weights
            )
