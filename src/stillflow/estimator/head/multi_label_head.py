"""tf.estimator.MultiLabelHead: any number of classes at once, by the sigmoid cross entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classes import classification_output, ids_of_words
from stillflow.estimator.canned.head_inputs import (
    check_labels_given,
    checked_logits,
    labels_of_head,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.head.base import (
    LogitsHead,
    check_prediction_keys,
    checked_range,
    update_with_weights_like,
)
from stillflow.estimator.head.thresholds import metrics_at, update_at
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.losses.base import Reduction

_CURVES = {MetricKeys.AUC: "ROC", MetricKeys.AUC_PR: "PR"}
# The metrics of one class, by its number and by its word.
_OF_CLASS = (
    (MetricKeys.PROBABILITY_MEAN_AT_CLASS, MetricKeys.PROBABILITY_MEAN_AT_NAME),
    (MetricKeys.AUC_AT_CLASS, MetricKeys.AUC_AT_NAME),
    (MetricKeys.AUC_PR_AT_CLASS, MetricKeys.AUC_PR_AT_NAME),
)


@export("estimator.MultiLabelHead")
class MultiLabelHead(LogitsHead):
    """Several classes, of which an example has any number; each has a logit.

    Args:
      n_classes: how many there are, more than 1.
      weight_column, thresholds, loss_reduction, loss_fn, name: as of `BinaryClassHead`.
      label_vocabulary: the words that labels are; None if they are ids, or [batch, n_classes] of
        0 and 1.
      classes_for_class_based_metrics: ids or words of classes with metrics of their own.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self, n_classes: int, weight_column: Any = None, thresholds: Any = None,
        label_vocabulary: Any = None, loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None, classes_for_class_based_metrics: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if n_classes is None or n_classes < 2:
            raise ValueError(
                f"n_classes must be > 1 for multi-label classification. Given: {n_classes}"
            )
        self._thresholds = tuple(thresholds or ())
        for threshold in self._thresholds:
            if threshold <= 0.0 or threshold >= 1.0:
                raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
        _check_words(label_vocabulary, n_classes)
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        self._label_vocabulary = label_vocabulary
        self._measured = _class_ids(classes_for_class_based_metrics, n_classes, label_vocabulary)

    def _processed_labels(self, logits: Any, labels: Any) -> Tensor:
        check_labels_given(labels, "contains")
        if isinstance(labels, tf.SparseTensor):
            labels = tf.to_int64(self._indicators(labels))
        else:
            message = "labels must be an integer indicator Tensor with values in [0, 1]"
            labels = checked_range(labels, 2, message)
        return labels_of_head(labels, logits, self._logits_dimension)

    def _indicators(self, labels: Any) -> Tensor:
        """Sparse ids or words as a matrix of booleans."""
        count, values = self._logits_dimension, labels.values
        if labels.dtype == tf.string:
            ids = ids_of_words(values, self._label_vocabulary)
            labels = tf.SparseTensor(labels.indices, ids, labels.dense_shape)
            return tf.sparse_to_indicator(labels, count)
        if not values.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {values.dtype}.")
        message = f"labels must be an integer SparseTensor with values in [0, {count})"
        with tf.control_dependencies([checked_range(values, count, message)]):
            return tf.sparse_to_indicator(labels, count)

    def _own_loss(self, labels: Any, logits: Any) -> Tensor:
        losses = tf.losses.sigmoid_cross_entropy(
            multi_class_labels=labels, logits=logits, reduction=tf.losses.Reduction.NONE
        )
        return tf.reduce_mean(losses, axis=-1, keepdims=True)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """{name: prediction}, or those of `keys` alone."""
        names = PredictionKeys
        keys = check_prediction_keys(keys, [names.LOGITS, names.PROBABILITIES])
        logits = checked_logits(logits, self._logits_dimension)
        with tf.name_scope(None, "predictions", (logits,)):
            found = {names.LOGITS: logits} if names.LOGITS in keys else {}
            if names.PROBABILITIES in keys:
                found[names.PROBABILITIES] = tf.sigmoid(logits, name=names.PROBABILITIES)
            return found

    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """Return the mean loss, areas under curves, and those of thresholds and classes."""
        made = tf.keras.metrics
        with tf.name_scope(None, "metrics", (regularization_losses,)):
            metrics = self._means(None, MetricKeys.LOSS_MEAN)
            for key, curve in _CURVES.items():
                metrics[self._summary_key(key)] = made.AUC(curve=curve, name=key)
            metrics.update(self._means(regularization_losses))
            metrics.update(metrics_at(self._thresholds, self._summary_key))
            for class_id in self._measured:
                mean, *areas = self._keys_of_class(class_id)
                metrics[mean] = made.Mean(name=mean)
                for key, curve in zip(areas, _CURVES.values(), strict=True):
                    metrics[key] = made.AUC(curve=curve, name=key)
        return metrics

    def _keys_of_class(self, class_id: int) -> list[str]:
        words = self._label_vocabulary
        return [
            self._summary_key(by_id % class_id if words is None else by_word % words[class_id])
            for by_id, by_word in _OF_CLASS
        ]

    def update_metrics(  # as TF's, it takes no mode
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics, after they were updated by a batch."""
        logits = checked_logits(logits, self._logits_dimension)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._losses_and_weights(logits, labels, features)
        key = PredictionKeys.PROBABILITIES
        probabilities = self.predictions(logits, [key])[key]
        eval_metrics[self._summary_key(MetricKeys.LOSS_MEAN)].update_state(
            values=losses, sample_weight=weights
        )
        for curve in _CURVES:
            eval_metrics[self._summary_key(curve)].update_state(
                y_true=labels, y_pred=probabilities, sample_weight=weights
            )
        self._update_regularization(eval_metrics, regularization_losses)
        update_at(eval_metrics, self._thresholds, self._summary_key, labels, probabilities, weights)
        for class_id in self._measured:
            mean, *areas = self._keys_of_class(class_id)
            of_class, labels_of_class = _column_of(class_id, probabilities, labels)
            update_with_weights_like(eval_metrics[mean], of_class, weights)
            for area in areas:
                eval_metrics[area].update_state(
                    y_true=labels_of_class, y_pred=of_class, sample_weight=weights
                )
        return eval_metrics

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {
            ServingKeys.CLASSIFY: classification_output(
                predictions[PredictionKeys.PROBABILITIES], self._logits_dimension,
                self._label_vocabulary,
            )
        }  # fmt: skip


def _check_words(vocabulary: Any, n_classes: int) -> None:
    if vocabulary is None:
        return
    if not isinstance(vocabulary, (list, tuple)):
        raise ValueError(
            f"label_vocabulary must be a list or tuple. Given type: {type(vocabulary)}"
        )
    if len(vocabulary) != n_classes:
        raise ValueError(
            f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(vocabulary)}"
        )


def _class_ids(classes: Any, n_classes: int, vocabulary: Any) -> tuple[int, ...]:
    """Return the ids of classes that are given by ids or words."""
    classes = tuple(classes or ())
    if classes and isinstance(classes[0], str):
        if not vocabulary:
            raise ValueError(
                "label_vocabulary must be provided when classes_for_class_based_metrics are sting."
            )
        return tuple(vocabulary.index(word) for word in classes)
    for class_id in classes:
        if class_id < 0 or class_id >= n_classes:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. "
                f"Given: {class_id}"
            )
    return classes


def _column_of(class_id: int, *matrices: Any) -> list[Any]:
    """Return the column of a class out of each [..., n_classes]."""
    rank = tf.rank(matrices[0]) - 1
    column = {
        "begin": tf.concat([tf.zeros([rank], tf.int32), [class_id]], axis=0),
        "size": tf.concat([-1 * tf.ones([rank], tf.int32), [1]], axis=0),
    }
    return [tf.slice(matrix, **column) for matrix in matrices]
