"""Heads that predict classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.learn.heads import losses, metrics
from stillflow_contrib.learn.heads.base import Head, _SingleHead, old_head
from stillflow_contrib.learn.keys import MetricKey, PredictionKey, ProblemType


def _two_class_logits(logits: Any) -> Tensor:
    return tf.concat((tf.zeros_like(logits), logits), 1)


class _ClassificationHead(_SingleHead):
    """Base of classification heads: an export of probabilities with the names of classes.

    Args:
      thresholds: of metrics that look at probabilities above a threshold.
      label_keys: the names of classes, if labels are names.
      settings: of `_SingleHead`.
    """

    def __init__(
        self, *args: Any, thresholds: Any = None, label_keys: Any = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._thresholds = thresholds or (0.5,)
        self._label_keys = label_keys

    def _output_alternatives(self, predictions: dict[str, Any]) -> dict[Any, Any]:
        probabilities = predictions[PredictionKey.PROBABILITIES]
        with tf.name_scope(None, "_classification_output_alternatives", (probabilities,)):
            batch_size = tf.shape(probabilities)[0]
            if self._label_keys:
                names = tf.expand_dims(self._label_keys, axis=0)
                classes = tf.tile(names, [batch_size, 1], name="classes_tensor")
            else:
                numbers = tf.expand_dims(tf.range(tf.shape(probabilities)[1]), axis=0)
                numbers = tf.tile(numbers, [batch_size, 1])
                classes = tf.as_string(numbers, name="classes_tensor")
        exported = {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: classes}
        return {self._head_name: (self._problem_type, exported)}


class _BinaryLogisticHead(_ClassificationHead):
    """Two classes, by cross entropy."""

    _scope = "binary_logistic_head"

    def __init__(self, loss_fn: Any = None, **settings: Any) -> None:
        loss_fn = loss_fn or losses.log_loss_with_two_classes
        super().__init__(ProblemType.LOGISTIC_REGRESSION, 1, loss_fn, **settings)

    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        key = PredictionKey
        with tf.name_scope(None, "predictions", (logits,)):
            two = _two_class_logits(logits)
            return {
                key.LOGITS: logits,
                key.LOGISTIC: tf.sigmoid(logits, name=key.LOGISTIC),
                key.PROBABILITIES: tf.nn.softmax(two, name=key.PROBABILITIES),
                key.CLASSES: tf.argmax(two, 1, name=key.CLASSES),
            }

    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        values = [eval_loss, labels, weights, *predictions.values()]
        with tf.name_scope("metrics", values=values):
            logistic = predictions[PredictionKey.LOGISTIC]
            made = self._accuracy(eval_loss, predictions, labels, weights)
            made[self._key(MetricKey.PREDICTION_MEAN)] = metrics.mean(logistic, weights)
            made[self._key(MetricKey.LABEL_MEAN)] = metrics.mean(labels, weights)
            made[self._key(MetricKey.ACCURACY_BASELINE)] = metrics.mean(labels, weights)
            made[self._key(MetricKey.AUC)] = metrics.auc(logistic, labels, weights)
            made[self._key(MetricKey.AUC_PR)] = metrics.auc(logistic, labels, weights, curve="PR")
            for threshold in self._thresholds:
                given = (logistic, labels, weights, threshold)
                precision = functools.partial(
                    metrics.at_threshold, tf.metrics.precision_at_thresholds
                )
                recall = functools.partial(metrics.at_threshold, tf.metrics.recall_at_thresholds)
                for key, metric in (
                    (MetricKey.ACCURACY_MEAN, metrics.accuracy_at_threshold),
                    (MetricKey.PRECISION_MEAN, precision),
                    (MetricKey.RECALL_MEAN, recall),
                ):
                    made[self._key(key % threshold)] = metric(*given)
            return made


class _BinarySvmHead(_SingleHead):
    """Two classes, by the hinge loss."""

    _scope = "binary_svm_head"

    def __init__(self, **settings: Any) -> None:
        super().__init__(ProblemType.LOGISTIC_REGRESSION, 1, losses.hinge_loss, **settings)

    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        with tf.name_scope(None, "predictions", (logits,)):
            classes = tf.argmax(_two_class_logits(logits), 1, name=PredictionKey.CLASSES)
            return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: classes}

    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        values = [eval_loss, labels, weights, *predictions.values()]
        with tf.name_scope("metrics", values=values):
            return self._accuracy(eval_loss, predictions, labels, weights)


class _ManyClassesHead(_ClassificationHead):
    """Base of heads of more than two classes: metrics of some of these.

    Args:
      n_classes: how many classes there are.
      loss_fn: the loss.
      metric_class_ids: the classes that have metrics of their own.
      settings: of `_ClassificationHead`.

    Raises:
      ValueError: if one of these is no class.
    """

    def __init__(
        self, n_classes: int, loss_fn: Any, metric_class_ids: Any = None, **settings: Any
    ) -> None:
        super().__init__(ProblemType.CLASSIFICATION, n_classes, loss_fn, **settings)
        self._metric_class_ids = tuple(metric_class_ids or ())
        for class_id in self._metric_class_ids:
            if class_id < 0 or class_id >= n_classes:
                raise ValueError(f"Class ID {class_id} not in [0, {n_classes}).")


class _MultiClassHead(_ManyClassesHead):
    """One of many classes, by cross entropy. Labels are pairs: as given, and as numbers."""

    _scope = "multi_class_head"

    def __init__(
        self, n_classes: int, loss_fn: Any = None, label_keys: Any = None, **settings: Any
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        loss_fn = loss_fn or losses.softmax_cross_entropy_loss
        super().__init__(n_classes, loss_fn, label_keys=label_keys, **settings)
        if label_keys and len(label_keys) != n_classes:
            raise ValueError("Length of label_keys must equal n_classes.")

    def _transform_labels(self, labels: Any) -> dict[str, Tensor]:
        labels = super()._transform_labels(labels)
        if not self._label_keys:
            return {"labels": labels, "label_ids": labels}
        table = tf.contrib.lookup.index_table_from_tensor(self._label_keys, name="label_id_lookup")
        return {"labels": labels, "label_ids": table.lookup(labels)}

    def _loss(self, labels: Any, logits: Any, weights: Any) -> tuple[Tensor, Tensor]:
        return self._loss_fn(labels["label_ids"], logits, weights=weights)

    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        key = PredictionKey
        with tf.name_scope(None, "predictions", (logits,)):
            classes = tf.argmax(logits, 1, name=key.CLASSES)
            if self._label_keys:
                table = tf.contrib.lookup.index_to_string_table_from_tensor(
                    self._label_keys, name="class_string_lookup"
                )
                classes = table.lookup(classes)
            probabilities = tf.nn.softmax(logits, name=key.PROBABILITIES)
            return {key.LOGITS: logits, key.PROBABILITIES: probabilities, key.CLASSES: classes}

    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        given, ids = labels["labels"], labels["label_ids"]
        values = (eval_loss, given, ids, weights, *predictions.values())
        with tf.name_scope("metrics", values=values):
            made = self._accuracy(eval_loss, predictions, given, weights)
            for class_id in () if self._label_keys else self._metric_class_ids:
                for key, metric, of in (
                    (MetricKey.CLASS_PREDICTION_MEAN, metrics.share_of_class,
                     predictions[PredictionKey.CLASSES]),
                    (MetricKey.CLASS_LABEL_MEAN, metrics.share_of_class, ids),
                    (MetricKey.CLASS_PROBABILITY_MEAN, metrics.mean,
                     predictions[PredictionKey.PROBABILITIES]),
                    (MetricKey.CLASS_LOGITS_MEAN, metrics.mean,
                     predictions[PredictionKey.LOGITS]),
                ):  # fmt: skip
                    made[self._key(key % class_id)] = metric(of, weights, class_id)
            return made


class _MultiLabelHead(_ManyClassesHead):
    """Any number of many classes, by cross entropy of each."""

    _scope = "multi_label_head"

    def __init__(self, n_classes: int, loss_fn: Any = None, **settings: Any) -> None:
        loss_fn = loss_fn or losses.sigmoid_cross_entropy_loss
        super().__init__(n_classes, loss_fn, **settings)

    def _transform_labels(self, labels: Any) -> Tensor:
        labels = self._labels_tensor(labels)
        if isinstance(labels, tf.SparseTensor):
            if self._logits_dimension < 2:
                raise ValueError("Must set num_classes >= 2 when passing labels as a SparseTensor.")
            return tf.cast(tf.sparse_to_indicator(labels, self._logits_dimension), tf.int64)
        return labels

    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        key = PredictionKey
        with tf.name_scope(None, "predictions", (logits,)):
            return {
                key.LOGITS: logits,
                key.PROBABILITIES: tf.sigmoid(logits, name=key.PROBABILITIES),
                key.CLASSES: tf.cast(tf.greater(logits, 0), tf.int64, name=key.CLASSES),
            }

    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        values = [eval_loss, labels, weights, *predictions.values()]
        with tf.name_scope("metrics", values=values):
            probabilities = predictions[PredictionKey.PROBABILITIES]
            made = self._accuracy(eval_loss, predictions, labels, weights)
            made[self._key(MetricKey.AUC)] = metrics.auc(probabilities, labels, weights)
            made[self._key(MetricKey.AUC_PR)] = metrics.auc(
                probabilities, labels, weights, curve="PR"
            )
            for class_id in self._metric_class_ids:
                for key, of in (
                    (MetricKey.CLASS_PREDICTION_MEAN, predictions[PredictionKey.CLASSES]),
                    (MetricKey.CLASS_LABEL_MEAN, labels),
                    (MetricKey.CLASS_PROBABILITY_MEAN, probabilities),
                    (MetricKey.CLASS_LOGITS_MEAN, predictions[PredictionKey.LOGITS]),
                ):
                    made[self._key(key % class_id)] = metrics.mean(of, weights, class_id)
                for key, curve in ((MetricKey.CLASS_AUC, "ROC"), (MetricKey.CLASS_AUC_PR, "PR")):
                    made[self._key(key % class_id)] = metrics.auc(
                        probabilities, labels, weights, class_id, curve=curve
                    )
            return made


@export("contrib.learn.multi_class_head")
@old_head
def multi_class_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
    metric_class_ids: Any = None,
    loss_fn: Callable[..., Any] | None = None,
    label_keys: Any = None,
) -> Head:
    """Return a head that predicts one of two or more classes.

    Args:
      n_classes: how many.
      label_name: which labels it takes, if they are a dict.
      weight_column_name: the feature that weights examples.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      head_name: of the variable scope, and the end of the metrics' names.
      thresholds: of the metrics of two classes.
      metric_class_ids: classes that have metrics of their own, where there are more than two.
      loss_fn: takes `labels`, `logits`, `weights`; cross entropy by default.
      label_keys: the names of classes, if labels are names.

    Raises:
      ValueError: for fewer classes, other arguments of the loss, or what two classes do not take.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    settings = {
        "label_name": label_name, "weight_column_name": weight_column_name,
        "enable_centered_bias": enable_centered_bias, "head_name": head_name,
        "thresholds": thresholds, "loss_fn": losses.user_loss(loss_fn),
    }  # fmt: skip
    if n_classes > 2:
        return _MultiClassHead(
            n_classes, metric_class_ids=metric_class_ids, label_keys=label_keys, **settings
        )
    if metric_class_ids:
        raise ValueError("metric_class_ids invalid for n_classes==2.")
    if label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    return _BinaryLogisticHead(**settings)


@export("contrib.learn.binary_svm_head")
@old_head
def binary_svm_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
) -> Head:
    """Return a head that predicts one of two classes, by the hinge loss.

    Args:
      thresholds: nothing.
      label_name, weight_column_name, ...: as of `multi_class_head`.
    """
    return _BinarySvmHead(
        label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip


@export("contrib.learn.multi_label_head")
@old_head
def multi_label_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Any = None,
    metric_class_ids: Any = None,
    loss_fn: Callable[..., Any] | None = None,
) -> Head:
    """Return a head that predicts any number of classes.

    Args:
      n_classes, label_name, ...: as of `multi_class_head`. Labels are [batch, n_classes] of zeros
        and ones, or a SparseTensor of the numbers of classes.

    Raises:
      ValueError: for fewer classes, or other arguments of the loss.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    return _MultiLabelHead(
        n_classes, losses.user_loss(loss_fn), metric_class_ids=metric_class_ids,
        label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name, thresholds=thresholds,
    )  # fmt: skip
