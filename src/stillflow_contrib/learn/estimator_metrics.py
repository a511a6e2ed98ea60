"""The metrics of an evaluation of `tf.contrib.learn`."""

from __future__ import annotations

from typing import Any

from stillflow.ops.control_flow.identity_and_group import group
from stillflow.platform import tf_logging as logging
from stillflow_contrib.learn.metric_spec import MetricSpec


def make_metrics_ops(metrics: Any, features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """Call a program's metrics.

    Args:
      metrics: {name: `MetricSpec`}; functions of predictions and labels, under a name or a pair
        of a name and a key of predictions, are taken with a warning.
      features: a tensor, or tensors by name.
      labels: a tensor, or tensors by name.
      predictions: a tensor, or tensors by name.

    Returns:
      {name: what the metric returned}.

    Raises:
      ValueError: if a name is a tuple of another length, or does not fit the predictions.
    """
    label = next(iter(labels.values())) if isinstance(labels, dict) and len(labels) == 1 else labels
    found = {}
    for name, metric in sorted((metrics or {}).items()):
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
            continue
        logging.warning(
            "Please specify metrics using MetricSpec. Using bare functions or (key, fn) tuples is "
            "deprecated and support for it will be removed on Oct 1, 2016."
        )
        if not isinstance(name, tuple):
            if isinstance(predictions, dict):
                raise ValueError(
                    "Metrics passed provide only name, no prediction, but predictions are dict. "
                    f"Metrics: {metrics}, Labels: {label}."
                )
            found[name] = metric(predictions, label)
            continue
        if len(name) != 2:
            raise ValueError(
                f"Invalid metric for {name}. It returned a tuple with len {len(name)}, expected 2."
            )
        if not isinstance(predictions, dict):
            raise ValueError(
                "Metrics passed provide (name, prediction), but predictions are not dict. "
                f"Metrics: {metrics}, Predictions: {predictions}."
            )
        own, key = name
        of_key = isinstance(labels, dict) and key in labels
        found[own] = metric(predictions[key], labels[key] if of_key else label)
    return found


def split_metrics(metrics: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the fetches of a round (None if none), and the final values."""
    updates, values = [], {}
    for name, metric in metrics.items():
        values[name] = metric
        if not isinstance(metric, (list, tuple)):
            continue
        if len(metric) == 2:
            values[name], update = metric
            updates.append(update)
        else:
            logging.warning(
                f"Ignoring metric {name}. It returned a list|tuple with len {len(metric)}, "
                "expected 2"
            )
    return group(*updates) if updates else None, values
