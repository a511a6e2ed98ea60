"""`tf.contrib.tensor_forest.eval_metrics`: metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow_contrib.learn.keys import PredictionKey

INFERENCE_PROB_NAME = export_value(
    "contrib.tensor_forest.eval_metrics.INFERENCE_PROB_NAME", PredictionKey.PROBABILITIES
)
INFERENCE_PRED_NAME = export_value(
    "contrib.tensor_forest.eval_metrics.INFERENCE_PRED_NAME", PredictionKey.CLASSES
)
FEATURE_IMPORTANCE_NAME = export_value(
    "contrib.tensor_forest.eval_metrics.FEATURE_IMPORTANCE_NAME", "global_feature_importance"
)

Metric = Callable[..., Any]


def _top_k_generator(k: int) -> Metric:
    def top_k(probabilities: Any, targets: Any) -> Any:
        targets = tf.cast(targets, tf.int32)
        if targets.get_shape().ndims > 1:
            targets = tf.squeeze(targets, axis=[1])
        return tf.metrics.mean(tf.nn.in_top_k(probabilities, targets, k))

    return top_k


def _of_classes(metric: str) -> Metric:
    """Return a metric of tf.metrics that compares predicted classes with labels."""

    def compare(predictions: Any, targets: Any, weights: Any = None) -> Any:
        found = getattr(tf.metrics, metric)
        return found(labels=targets, predictions=predictions, weights=weights)

    return compare


_accuracy = _of_classes("accuracy")


def _of_second_class(metric: str, **settings: Any) -> Metric:
    """Return a metric of tf.metrics that takes the probability of the second class."""

    def compare(predictions: Any, targets: Any, weights: Any = None) -> Any:
        second = tf.slice(predictions, [0, 1], [-1, 1])
        found = getattr(tf.metrics, metric)
        return found(labels=targets, predictions=second, weights=weights, **settings)

    return compare


def _r2(probabilities: Any, targets: Any, weights: Any = None) -> Any:
    targets = tf.cast(targets, tf.float32)
    guesses = tf.reduce_mean(targets, 0), probabilities
    total, residual = (tf.reduce_sum(tf.squared_difference(targets, guess), 0) for guess in guesses)
    return tf.metrics.mean(1 - tf.reduce_sum(residual / total), weights=weights)


def _one_hot(targets: Any, probabilities: Any) -> Any:
    depth = tf.shape(probabilities)[1]
    targets = tf.squeeze(targets, axis=[1])
    return tf.one_hot(tf.cast(targets, tf.int32), depth)


def _sigmoid_entropy(probabilities: Any, targets: Any, weights: Any = None) -> Any:
    loss = tf.contrib.losses.sigmoid_cross_entropy(probabilities, _one_hot(targets, probabilities))
    return tf.metrics.mean(loss, weights=weights)


def _softmax_entropy(probabilities: Any, targets: Any, weights: Any = None) -> Any:
    loss = tf.contrib.losses.sparse_softmax_cross_entropy(probabilities, tf.cast(targets, tf.int32))
    return tf.metrics.mean(loss, weights=weights)


def _class_log_loss(probabilities: Any, targets: Any, weights: Any = None) -> Any:
    loss = tf.contrib.losses.log_loss(probabilities, _one_hot(targets, probabilities))
    return tf.metrics.mean(loss, weights=weights)


def _predictions(predictions: Any, unused_targets: Any, **unused_kwargs: Any) -> Any:
    return predictions


_THRESHOLDS = np.arange(0, 1, 0.01, dtype=np.float32)
_SCORES = PredictionKey.SCORES

# A metric, and its part of a prediction.
_METRICS: dict[str, tuple[Metric, str]] = {
    "auc": (_of_second_class("auc"), INFERENCE_PROB_NAME),
    "sigmoid_entropy": (_sigmoid_entropy, INFERENCE_PROB_NAME),
    "softmax_entropy": (_softmax_entropy, INFERENCE_PROB_NAME),
    "accuracy": (_accuracy, INFERENCE_PRED_NAME),
    "r2": (_r2, _SCORES),
    "predictions": (_predictions, INFERENCE_PRED_NAME),
    "classification_log_loss": (_class_log_loss, INFERENCE_PROB_NAME),
    "precision": (_of_classes("precision"), INFERENCE_PRED_NAME),
    "precision_at_thresholds": (
        _of_second_class("precision_at_thresholds", thresholds=_THRESHOLDS), INFERENCE_PROB_NAME,
    ),
    "recall": (_of_classes("recall"), INFERENCE_PRED_NAME),
    "recall_at_thresholds": (
        _of_second_class("recall_at_thresholds", thresholds=_THRESHOLDS), INFERENCE_PROB_NAME,
    ),
    "top_5": (_top_k_generator(5), INFERENCE_PROB_NAME),
}  # fmt: skip


@export("contrib.tensor_forest.eval_metrics.get_metric")
def get_metric(metric_name: str) -> Metric:
    """Return the metric of a name: a function of predictions and labels that gives (value, update).

    Raises:
      KeyError: if there is none.
    """
    return _METRICS[metric_name][0]


@export("contrib.tensor_forest.eval_metrics.get_prediction_key")
def get_prediction_key(metric_name: str) -> str:
    """Return the key of the prediction that a metric uses.

    Raises:
      KeyError: if there is none.
    """
    return _METRICS[metric_name][1]
