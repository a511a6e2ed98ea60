"""`tf.contrib.layers.regression_target`, `multi_class_target`: targets of older models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.deprecation import deprecated
from stillflow_contrib.learn.keys import MetricKey, ProblemType

_LEFT = deprecated(
    "2016-11-12",
    "This file will be removed after the deprecation date.Please switch to "
    "third_party/tensorflow/contrib/learn/python/learn/estimators/head.py",
)


class TargetColumn:
    """Target of a model: its loss, its predictions and its metrics.

    Args:
      loss_fn: gives the losses of examples, from logits and targets.
      num_label_columns: how many logits there are.
      label_name: the key of targets that are a dict.
      weight_column_name: the key of the feature that weighs examples.
      problem_type: a `ProblemType`.

    Raises:
      ValueError: if a function or number is missing.
    """

    def __init__(
        self, loss_fn: Any, num_label_columns: int, label_name: str | None,
        weight_column_name: str | None, problem_type: int,
    ) -> None:  # fmt: skip
        if not loss_fn:
            raise ValueError("loss_fn must be provided")
        if num_label_columns is None:
            raise ValueError("num_label_columns must be provided")
        self._loss_fn = loss_fn
        self.num_label_columns = num_label_columns
        self.label_name = label_name
        self.weight_column_name = weight_column_name
        self.problem_type = problem_type

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """Return the predictions of logits [n, num_label_columns]; with `proba` probabilities."""
        raise NotImplementedError

    def get_eval_ops(self, features: Any, logits: Any, labels: Any, metrics: Any = None) -> Any:
        """{name: (value, update)} of the loss and of metrics."""
        raise NotImplementedError

    def get_weight_tensor(self, features: Any) -> Tensor | None:
        """Return the weights of examples, float [n], or None."""
        if not self.weight_column_name:
            return None
        weights = tf.cast(features[self.weight_column_name], tf.float32)
        return tf.reshape(weights, shape=(-1,))

    def _losses(self, logits: Any, target: Any, features: Any) -> tuple[Any, Any]:
        """Return the losses of examples, weighted, and the weights or None."""
        if isinstance(target, dict):
            target = target[self.label_name]
        losses = self._loss_fn(logits, target)
        weights = self.get_weight_tensor(features)
        if weights is None:
            return losses, None
        flat = tf.reshape(losses, shape=(-1,))
        return tf.multiply(flat, tf.reshape(weights, shape=(-1,))), weights

    def training_loss(
        self, logits: Any, target: Any, features: Any, name: str = "training_loss"
    ) -> Tensor:
        """Return the sum of weighted losses by the number of examples: a scalar."""
        return tf.reduce_mean(self._losses(logits, target, features)[0], name=name)

    def loss(self, logits: Any, target: Any, features: Any) -> Tensor:
        """Return the sum of weighted losses by that of weights: a scalar."""
        losses, weights = self._losses(logits, target, features)
        if weights is None:
            return tf.reduce_mean(losses, name="loss")
        total = tf.reduce_sum(losses)
        return tf.div(total, tf.cast(tf.reduce_sum(weights), tf.float32), name="loss")

    def _measured(
        self, logits: Any, labels: Any, metrics: Any, proba: bool, features: Any
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Return the metrics of predictions."""
        predictions = self.logits_to_predictions(logits, proba=proba)
        weights = self.get_weight_tensor(features)
        given = {} if weights is None else {"weights": weights}
        labels = tf.cast(labels, predictions.dtype)
        return {name: metric(predictions, labels, **given) for name, metric in metrics.items()}


class _Regression(TargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        return tf.squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, Any]:
        loss = self.loss(logits, labels, features)
        result = {"loss": tf.contrib.metrics.streaming_mean(loss)}
        if metrics:
            result.update(self._measured(logits, labels, metrics, False, features))
        return result


class _MultiClass(TargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        if self.num_label_columns == 1:
            logits = tf.concat([tf.zeros_like(logits), logits], 1)
        return tf.nn.softmax(logits) if proba else tf.argmax(logits, 1)

    def get_eval_ops(
        self, features: Any, logits: Any, labels: Any, metrics: Any = None
    ) -> dict[str, tuple[Tensor, Tensor]]:
        streaming = tf.contrib.metrics
        loss = self.loss(logits, labels, features)
        result = {"loss": streaming.streaming_mean(loss)}
        if metrics is None:
            metrics = {("accuracy", "classes"): streaming.streaming_accuracy}
        predictions, labels_float = tf.sigmoid(logits), tf.cast(labels, tf.float32)
        if self.num_label_columns == 1:
            for name, metric in get_default_binary_metrics_for_eval([0.5]).items():
                result[name] = metric(predictions, labels_float)
        kinds: dict[str, dict[str, Any]] = {"classes": {}, "probabilities": {}}
        for key, metric in metrics.items():
            name, kind = _metric_name(key)
            kinds[kind][name] = metric
        for kind, chosen in kinds.items():
            if chosen:
                proba = kind == "probabilities"
                result.update(self._measured(logits, labels, chosen, proba, features))
        return result


class _BinarySvm(_MultiClass):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        if proba:
            raise ValueError("logits to probabilities is not supported for _BinarySvmTargetColumn")
        return super().logits_to_predictions(logits)


def _metric_name(key: Any) -> tuple[str, str]:
    """Return the name of a metric, and the key of its prediction."""
    if isinstance(key, str):
        return key, "classes"
    if not isinstance(key, tuple):
        raise ValueError(f"Ignoring metric {key}. Its name is not in the correct form.")
    if len(key) != 2:
        raise ValueError(
            f"Ignoring metric {key}. It returned a tuple with len {len(key)}, expected 2."
        )
    if key[1] not in ("classes", "probabilities"):
        raise ValueError(
            f"Ignoring metric {key}. The 2nd element of its name should be either 'classes' or "
            "'probabilities'."
        )
    return key


def _as_column(target: Any) -> Tensor:
    return tf.expand_dims(target, axis=1) if len(target.get_shape()) == 1 else target


def _squared_loss(logits: Any, target: Any) -> Tensor:
    target = _as_column(target)
    logits.get_shape().assert_is_compatible_with(target.get_shape())
    return tf.squared_difference(logits, tf.cast(target, tf.float32))


def _two_class_loss(logits: Any, target: Any) -> Tensor:
    target = _as_column(target)
    labels = tf.cast(target, tf.float32)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _softmax_loss(logits: Any, target: Any) -> Tensor:
    if not target.dtype.is_integer:
        raise ValueError(f"Target's dtype should be integer Instead got {target.dtype}.")
    if len(target.get_shape()) == 2:
        target = tf.squeeze(target, axis=[1])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)


def _hinge_loss(logits: Any, target: Any) -> Any:
    allowed = tf.Assert(
        tf.less_equal(tf.rank(target), 2),
        ["target's shape should be either [batch_size, 1] or [batch_size]"],
    )
    with tf.control_dependencies([allowed]):
        target = tf.reshape(target, shape=[tf.shape(target)[0], 1])
    return tf.contrib.losses.hinge_loss(logits, target)


@export("contrib.layers.regression_target")
@_LEFT
def regression_target(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1
) -> TargetColumn:
    """Numbers, with their squared differences as loss.

    Args:
      label_name: the key of targets that are a dict.
      weight_column_name: the key of the feature that weighs examples.
      label_dimension: how many numbers an example has.
    """
    return _Regression(
        _squared_loss, label_dimension, label_name, weight_column_name,
        ProblemType.LINEAR_REGRESSION,
    )  # fmt: skip


@export("contrib.layers.multi_class_target")
@_LEFT
def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """One of several classes, with cross entropy as loss.

    Args:
      n_classes: how many.
      label_name: the key of targets that are a dict.
      weight_column_name: the key of the feature that weighs examples.

    Raises:
      ValueError: for fewer than two classes.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    two = n_classes == 2
    return _MultiClass(
        _two_class_loss if two else _softmax_loss, 1 if two else n_classes, label_name,
        weight_column_name, ProblemType.CLASSIFICATION,
    )  # fmt: skip


@_LEFT
def binary_svm_target(
    label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """One of two classes, with hinge loss; otherwise as `multi_class_target`."""
    return _BinarySvm(_hinge_loss, 1, label_name, weight_column_name, ProblemType.CLASSIFICATION)


@_LEFT
def get_default_binary_metrics_for_eval(thresholds: Any) -> dict[str, Callable[..., Any]]:
    """Metrics of probabilities and labels, by name, with those of each threshold."""
    streaming = tf.contrib.metrics

    def mean_of_labels(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        return streaming.streaming_mean(labels, weights=weights)

    def mean_of_predictions(
        predictions: Any, labels: Any, weights: Any = None
    ) -> tuple[Tensor, Tensor]:
        return streaming.streaming_mean(predictions, weights=weights)

    def auc(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        return streaming.streaming_auc(predictions, labels, weights=_as_float(weights))

    metrics: dict[str, Callable[..., Any]] = {
        MetricKey.PREDICTION_MEAN: mean_of_predictions,
        "labels/actual_target_mean": mean_of_labels,
        "accuracy/baseline_target_mean": mean_of_labels,
        MetricKey.AUC: auc,
    }
    for threshold in thresholds:
        metrics[MetricKey.ACCURACY_MEAN % threshold] = _accuracy_at(threshold)
        for key, at in (
            (MetricKey.PRECISION_MEAN, streaming.streaming_precision_at_thresholds),
            (MetricKey.RECALL_MEAN, streaming.streaming_recall_at_thresholds),
        ):
            metrics[key % threshold] = _at(at, threshold)
    return metrics


def _as_float(weights: Any) -> Any:
    return None if weights is None else tf.cast(weights, tf.float32)


def _accuracy_at(threshold: float) -> Callable[..., Any]:
    def accuracy(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        above = tf.cast(tf.greater_equal(predictions, threshold), tf.float32)
        return tf.contrib.metrics.streaming_accuracy(
            predictions=above, labels=labels, weights=weights
        )

    return accuracy


def _at(metric: Callable[..., Any], threshold: float) -> Callable[..., Any]:
    def measured(predictions: Any, labels: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        value, update = metric(
            predictions, labels=labels, thresholds=[threshold], weights=_as_float(weights)
        )
        return tf.squeeze(value), update

    return measured
