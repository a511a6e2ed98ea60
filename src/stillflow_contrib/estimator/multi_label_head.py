"""The head of `tf.contrib.estimator` for any number of classes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classes import classification_output, ids_of_words
from stillflow.estimator.canned.head import Head, LossSpec
from stillflow.estimator.canned.head_inputs import (
    called_loss_fn,
    check_labels_given,
    check_loss_fn,
    check_reduction,
    checked_logits,
    dense_labels,
    example_weights,
    labels_in_range,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.canned.metrics import area_under_curve, at_threshold, mean_of
from stillflow.estimator.head.multi_label_head import (
    _OF_CLASS,
    _check_words,
    _class_ids,
    _column_of,
)
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.losses.reduction import Reduction


@export("contrib.estimator.multi_label_head")
def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Any = None,
    name: str | None = None,
) -> Head:
    """Return a head that predicts several classes, of which an example has any number.

    Args:
      n_classes: how many there are, more than 1; each has a logit.
      weight_column: the key of the feature that weights examples, or a numeric column.
      thresholds: at which probabilities accuracy, precision and recall are measured besides.
      label_vocabulary: the words that labels are; None if they are ids, or [batch, n_classes] of
        0 and 1.
      loss_reduction: how the losses of a batch become one.
      loss_fn: takes `labels` and `logits`, and gives the losses [batch, 1].
      classes_for_class_based_metrics: ids or words of classes with metrics of their own.
      name: the end of the names of metrics.

    Raises:
      ValueError: if an argument is none of these.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(
            f"n_classes must be > 1 for multi-class classification. Given: {n_classes}"
        )
    thresholds = tuple(thresholds or ())
    for threshold in thresholds:
        if threshold <= 0.0 or threshold >= 1.0:
            raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
    _check_words(label_vocabulary, n_classes)
    check_loss_fn(loss_fn)
    check_reduction(loss_reduction)
    measured = _class_ids(classes_for_class_based_metrics, n_classes, label_vocabulary)
    head = _MultiLabelHead(n_classes, weight_column, loss_reduction, loss_fn, name)
    head._thresholds, head._label_vocabulary, head._measured = (
        thresholds,
        label_vocabulary,
        measured,
    )
    return head


class _MultiLabelHead(Head):
    """Several classes, each by the sigmoid cross entropy."""

    _thresholds: tuple[float, ...]
    _label_vocabulary: Any
    _measured: tuple[int, ...]

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        logits, count = tf.convert_to_tensor(logits), self._logits_dimension
        labels = dense_labels(self._processed(labels), logits, count)
        if self._loss_fn:
            unreduced = called_loss_fn(self._loss_fn, labels, logits, features)
        else:
            unreduced = tf.losses.sigmoid_cross_entropy(
                multi_class_labels=labels, logits=logits, reduction=Reduction.NONE
            )
            unreduced = tf.reduce_mean(unreduced, axis=-1, keepdims=True)
        weights = example_weights(features, self._weight_column, logits)
        return self._reduced(unreduced, weights, labels)

    def _processed(self, labels: Any) -> Tensor:
        check_labels_given(labels)
        if isinstance(labels, tf.SparseTensor):
            return self._of_sparse(labels)
        message = "labels must be an integer indicator Tensor with values in [0, 1]"
        return labels_in_range(labels, 2, message=message)

    def _of_sparse(self, labels: Any) -> Tensor:
        """Sparse ids or words as a matrix of 0 and 1."""
        count, values = self._logits_dimension, labels.values
        if labels.dtype == tf.string:
            ids = ids_of_words(values, self._label_vocabulary)
            labels = tf.SparseTensor(labels.indices, ids, labels.dense_shape)
            return tf.to_int64(tf.sparse_to_indicator(labels, count))
        message = f"labels must be an integer SparseTensor with values in [0, {count})"
        checks = [
            tf.assert_integer(values, message=message),
            tf.assert_less(
                values, tf.convert_to_tensor(count, dtype=labels.dtype), message=message
            ),
            tf.assert_non_negative(values, message=message),
        ]
        with tf.control_dependencies(checks):
            return tf.to_int64(tf.sparse_to_indicator(labels, count))

    def _predict(self, logits: Any) -> tuple[Any, dict[str, Any]]:
        logits = checked_logits(logits, self._logits_dimension)
        key = PredictionKeys.PROBABILITIES
        with tf.name_scope(None, "predictions", (logits,)):
            probabilities = tf.sigmoid(logits, name=key)
        return logits, {PredictionKeys.LOGITS: logits, key: probabilities}

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions[PredictionKeys.PROBABILITIES]
        output = classification_output(scores, self._logits_dimension, self._label_vocabulary)
        return {ServingKeys.CLASSIFY: output}

    def _eval_metrics(
        self, labels: Any, predictions: dict[str, Any], loss: LossSpec, regularization: Any
    ) -> dict[str, Any]:
        keys, weights, labels = MetricKeys, loss.weights, loss.processed_labels
        probabilities = predictions[PredictionKeys.PROBABILITIES]
        values = [labels, probabilities, weights, loss.unreduced_loss, regularization]
        with tf.name_scope(None, "metrics", values):
            unreduced = loss.unreduced_loss
            metrics = {
                keys.LOSS_MEAN: tf.metrics.mean(unreduced, weights=weights, name=keys.LOSS_MEAN)
            }
            for key, curve in ((keys.AUC, "ROC"), (keys.AUC_PR, "PR")):
                metrics[key] = tf.metrics.auc(
                    labels=labels, predictions=probabilities, weights=weights, curve=curve,
                    name=key,
                )  # fmt: skip
            added = self._regularization_metric(regularization)
            for threshold in self._thresholds:
                metrics.update(at_threshold(labels, probabilities, weights, threshold))
            for class_id in self._measured:
                metrics.update(self._of_class(class_id, labels, probabilities, weights))
            return {**{self._key(key): metric for key, metric in metrics.items()}, **added}

    def _of_class(
        self, class_id: int, labels: Any, probabilities: Any, weights: Any
    ) -> dict[str, Any]:
        words = self._label_vocabulary
        mean, *areas = (
            by_id % class_id if words is None else by_word % words[class_id]
            for by_id, by_word in _OF_CLASS
        )
        predicted, wanted = _column_of(class_id, probabilities, labels)
        found = {mean: mean_of(predicted, weights, mean, "predictions")}
        for key, curve in zip(areas, ("ROC", "PR"), strict=True):
            found[key] = area_under_curve(wanted, predicted, weights, key, curve)
        return found
