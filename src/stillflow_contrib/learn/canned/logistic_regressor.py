"""`tf.contrib.learn.LogisticRegressor`: metrics of two classes for a user's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.keys import MetricKey, ProblemType
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


@export("contrib.learn.LogisticRegressor")
def LogisticRegressor(
    model_fn: Callable[..., Any],
    thresholds: Any = None,
    model_dir: str | None = None,
    config: Any = None,
    feature_engineering_fn: Any = None,
) -> Estimator:
    """Return an estimator of probabilities, evaluated by metrics of two classes.

    Args:
      model_fn: takes features, labels and a mode; returns (predictions, loss, train_op).
      thresholds: above which predictions count as the second class; 0.5 by default.
      model_dir, config, feature_engineering_fn: as of `Estimator`.
    """

    def with_metrics(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
        predictions, loss, train_op = model_fn(features, labels, mode)
        metrics = None
        if mode == ModeKeys.EVAL:
            metrics = _metrics(labels, predictions, params.get("thresholds") or [0.5])
        outputs = {"head": (ProblemType.LOGISTIC_REGRESSION, {"predictions": predictions})}
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op,
            eval_metric_ops=metrics, output_alternatives=outputs,
        )  # fmt: skip

    return Estimator(
        model_fn=with_metrics, model_dir=model_dir, config=config,
        params={"thresholds": thresholds}, feature_engineering_fn=feature_engineering_fn,
    )  # fmt: skip


def _metrics(labels: Any, predictions: Any, thresholds: Any) -> dict[str, Any]:
    if isinstance(labels, dict) and len(labels) == 1:
        (labels,) = labels.values()
    streaming = tf.contrib.metrics
    metrics = {
        MetricKey.PREDICTION_MEAN: streaming.streaming_mean(predictions),
        MetricKey.LABEL_MEAN: streaming.streaming_mean(labels),
        MetricKey.ACCURACY_BASELINE: streaming.streaming_mean(labels),
        MetricKey.AUC: streaming.streaming_auc(labels=labels, predictions=predictions),
    }
    for threshold in thresholds:
        above = tf.cast(
            tf.greater_equal(predictions, threshold), tf.float32,
            name=f"predictions_at_threshold_{threshold:f}",
        )  # fmt: skip
        for key, metric in (
            (MetricKey.ACCURACY_MEAN, streaming.streaming_accuracy),
            (MetricKey.PRECISION_MEAN, streaming.streaming_precision),
            (MetricKey.RECALL_MEAN, streaming.streaming_recall),
        ):
            metrics[key % threshold] = metric(labels=labels, predictions=above)
    return metrics
