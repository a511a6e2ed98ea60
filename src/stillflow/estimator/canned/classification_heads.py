"""The heads of canned classifiers: of two classes by one logit, of more by one logit each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.estimator.canned.classes import (
    all_class_ids,
    all_classes,
    classification_output,
    ids_of_labels,
    ids_of_words,
    words_of_ids,
)
from stillflow.estimator.canned.head import Head, LossSpec
from stillflow.estimator.canned.head_inputs import (
    called_loss_fn,
    check_loss_fn,
    check_reduction,
    check_vocabulary,
    checked_class_count,
    checked_logits,
    checked_thresholds,
    dense_labels,
    example_weights,
    labels_in_range,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.canned.metrics import (
    area_under_curve,
    at_threshold,
    baseline_accuracy,
    mean_of,
)
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.losses.classification import sparse_softmax_cross_entropy
from stillflow.losses.reduction import Reduction
from stillflow.metrics.counts import precision, recall
from stillflow.metrics.means import accuracy, mean
from stillflow.nn.losses import sigmoid_cross_entropy_with_logits
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.math.argmax import argmax
from stillflow.ops.math.cast import to_float
from stillflow.ops.math.unary import sigmoid
from stillflow.ops.nn.softmax import softmax
from stillflow.saved_model.export_outputs import RegressionOutput


def classification_head(
    n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: Any
) -> Head:
    """Return the head of a canned classifier: for two classes, or for more."""
    if n_classes == 2:
        return BinaryLogisticHead(
            weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
        )
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


class MultiClassHead(Head):
    """Classes by the softmax cross entropy.

    Args:
      n_classes: how many there are, more than 2.
      weight_column, loss_reduction, loss_fn, name: as of `Head`.
      label_vocabulary: the words that labels are; None if they are ids.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None,
        loss_reduction: Any = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        check_vocabulary(label_vocabulary, ValueError, "a list or a tuple")
        check_reduction(loss_reduction)
        check_loss_fn(loss_fn)
        n_classes = checked_class_count(n_classes)
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        self._label_vocabulary = label_vocabulary

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        logits = convert_to_tensor(logits)
        ids = ids_of_labels(dense_labels(labels, logits, 1), self._label_vocabulary)
        ids = labels_in_range(ids, self._logits_dimension)
        if self._loss_fn:
            unreduced = called_loss_fn(self._loss_fn, ids, logits, features)
        else:
            unreduced = sparse_softmax_cross_entropy(
                labels=ids, logits=logits, reduction=Reduction.NONE
            )
            unreduced = expand_dims(unreduced, axis=-1)
        return self._reduced(unreduced, example_weights(features, self._weight_column, logits), ids)

    def _predict(self, logits: Any) -> tuple[Any, dict[str, Any]]:
        logits = checked_logits(logits, self._logits_dimension)
        keys, vocabulary = PredictionKeys, self._label_vocabulary
        with name_scope(None, "predictions", (logits,)):
            every_id = all_class_ids(logits, self._logits_dimension)
            every_class = all_classes(logits, self._logits_dimension, vocabulary)
            ids = expand_dims(argmax(logits, axis=-1, name=keys.CLASS_IDS), axis=-1)
            classes = words_of_ids(ids, vocabulary)
            probabilities = softmax(logits, name=keys.PROBABILITIES)
        return logits, {
            keys.LOGITS: logits, keys.PROBABILITIES: probabilities, keys.CLASS_IDS: ids,
            keys.CLASSES: classes, keys.ALL_CLASS_IDS: every_id, keys.ALL_CLASSES: every_class,
        }  # fmt: skip

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions[PredictionKeys.PROBABILITIES]
        return {
            ServingKeys.CLASSIFY: classification_output(
                scores, self._logits_dimension, self._label_vocabulary
            )
        }

    def _eval_metrics(
        self, labels: Any, predictions: dict[str, Any], loss: LossSpec, regularization: Any
    ) -> dict[str, Any]:
        keys, ids, weights = MetricKeys, predictions[PredictionKeys.CLASS_IDS], loss.weights
        label_ids = loss.processed_labels
        values = (label_ids, ids, weights, loss.unreduced_loss, regularization)
        with name_scope(None, "metrics", values):
            return {
                self._key(keys.LOSS_MEAN): mean(
                    loss.unreduced_loss, weights=weights, name=keys.LOSS_MEAN
                ),
                self._key(keys.ACCURACY): accuracy(label_ids, ids, weights, name=keys.ACCURACY),
                **self._regularization_metric(regularization),
            }


class BinaryLogisticHead(Head):
    """Two classes by the sigmoid cross entropy.

    Args:
      weight_column, loss_reduction, loss_fn, name: as of `Head`.
      thresholds: at which probabilities accuracy, precision and recall are measured besides.
      label_vocabulary: the two words that labels are; None if they are numbers in [0, 1].

    Raises:
      ValueError: if an argument is none of these.
      TypeError: if the vocabulary is no list.
    """

    def __init__(
        self, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
        loss_reduction: Any = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        check_vocabulary(label_vocabulary, TypeError, "a list or tuple")
        self._thresholds = checked_thresholds(thresholds)
        check_reduction(loss_reduction)
        check_loss_fn(loss_fn)
        super().__init__(1, weight_column, loss_reduction, loss_fn, name)
        self._label_vocabulary = label_vocabulary

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        logits = convert_to_tensor(logits)
        labels = dense_labels(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = ids_of_words(labels, self._label_vocabulary)
        labels = labels_in_range(to_float(labels), n_classes=2)
        if self._loss_fn:
            unreduced = called_loss_fn(self._loss_fn, labels, logits, features)
        else:
            unreduced = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        weights = example_weights(features, self._weight_column, logits)
        return self._reduced(unreduced, weights, labels)

    def _predict(self, logits: Any) -> tuple[Any, dict[str, Any]]:
        keys, vocabulary = PredictionKeys, self._label_vocabulary
        with name_scope(None, "predictions", (logits,)):
            logits = checked_logits(logits, self._logits_dimension)
            logistic = sigmoid(logits, name=keys.LOGISTIC)
            both = concat((zeros_like(logits), logits), axis=-1, name="two_class_logits")
            probabilities = softmax(both, name=keys.PROBABILITIES)
            ids = expand_dims(argmax(both, axis=-1, name=keys.CLASS_IDS), axis=-1)
            every_id = all_class_ids(logits, 2)
            every_class = all_classes(logits, 2, vocabulary)
            classes = words_of_ids(ids, vocabulary)
        return logits, {
            keys.LOGITS: logits, keys.LOGISTIC: logistic, keys.PROBABILITIES: probabilities,
            keys.CLASS_IDS: ids, keys.CLASSES: classes, keys.ALL_CLASS_IDS: every_id,
            keys.ALL_CLASSES: every_class,
        }  # fmt: skip

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions[PredictionKeys.PROBABILITIES]
        return {
            ServingKeys.CLASSIFY: classification_output(scores, 2, self._label_vocabulary),
            ServingKeys.REGRESS: RegressionOutput(predictions[PredictionKeys.LOGISTIC]),
        }

    def _eval_metrics(
        self, labels: Any, predictions: dict[str, Any], loss: LossSpec, regularization: Any
    ) -> dict[str, Any]:
        keys = PredictionKeys
        parts = [predictions[key] for key in (keys.LOGITS, keys.LOGISTIC, keys.CLASS_IDS)]
        values = (loss.processed_labels, *parts, loss.weights, loss.unreduced_loss, regularization)
        with name_scope(None, "metrics", values):
            metrics = self._metrics(parts[1], parts[2], loss)
            added = self._regularization_metric(regularization)
            for threshold in self._thresholds:
                metrics.update(
                    at_threshold(loss.processed_labels, parts[1], loss.weights, threshold)
                )
            return {**{self._key(key): metric for key, metric in metrics.items()}, **added}

    def _metrics(self, logistic: Any, ids: Any, loss: LossSpec) -> dict[str, Any]:
        keys, labels, weights = MetricKeys, loss.processed_labels, loss.weights
        label_mean = mean_of(labels, weights, keys.LABEL_MEAN, "labels")
        metrics = {keys.LOSS_MEAN: mean(loss.unreduced_loss, weights=weights, name=keys.LOSS_MEAN)}
        counted = {keys.ACCURACY: accuracy, keys.PRECISION: precision, keys.RECALL: recall}
        for key, metric in counted.items():
            metrics[key] = metric(labels, ids, weights, name=key)
        metrics[keys.PREDICTION_MEAN] = mean_of(
            logistic, weights, keys.PREDICTION_MEAN, "predictions"
        )
        metrics[keys.LABEL_MEAN] = label_mean
        metrics[keys.ACCURACY_BASELINE] = baseline_accuracy(label_mean)
        for key, curve in ((keys.AUC, "ROC"), (keys.AUC_PR, "PR")):
            metrics[key] = area_under_curve(labels, logistic, weights, key, curve)
        return metrics
