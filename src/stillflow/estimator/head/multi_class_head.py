"""tf.estimator.MultiClassHead: one of more than two classes, by the softmax cross entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classes import classification_output, ids_of_labels
from stillflow.estimator.canned.head_inputs import (
    check_vocabulary,
    checked_class_count,
    checked_logits,
    labels_of_head,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.head.base import LogitsHead, check_prediction_keys, checked_range
from stillflow.estimator.head.class_predictions import CLASS_KEYS, class_predictions
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.losses.base import Reduction


@export("estimator.MultiClassHead")
class MultiClassHead(LogitsHead):
    """One of several classes, each with a logit.

    Args:
      n_classes: how many there are, more than 2.
      weight_column, loss_reduction, loss_fn, name: as of `BinaryClassHead`.
      label_vocabulary: the words that labels are; None if they are ids.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None,
        loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        check_vocabulary(label_vocabulary, ValueError, "a list or a tuple")
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                '"label_vocabulary" does not have "n_classes" items. len(label_vocabulary)='
                f"{len(label_vocabulary)}, n_classes={n_classes}, "
                f"label_vocabulary={label_vocabulary}"
            )
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        checked_class_count(n_classes)
        self._label_vocabulary = label_vocabulary

    def _processed_labels(self, logits: Any, labels: Any) -> Tensor:
        ids = ids_of_labels(labels_of_head(labels, logits, 1), self._label_vocabulary)
        return checked_range(ids, self._logits_dimension)

    def _own_loss(self, labels: Any, logits: Any) -> Tensor:
        losses = tf.losses.sparse_softmax_cross_entropy(
            labels=labels, logits=logits, reduction=tf.losses.Reduction.NONE
        )
        return tf.expand_dims(losses, axis=-1)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """{name: prediction}, or those of `keys` alone."""
        keys = check_prediction_keys(keys, [PredictionKeys.LOGITS, *CLASS_KEYS])
        logits = checked_logits(logits, self._logits_dimension)
        with tf.name_scope(None, "predictions", (logits,)):
            own = {PredictionKeys.LOGITS: logits} if PredictionKeys.LOGITS in keys else {}
            return {**own, **class_predictions(logits, logits, keys, self._label_vocabulary)}

    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """Return the mean loss and the accuracy."""
        key = MetricKeys.ACCURACY
        with tf.name_scope(None, "metrics", (regularization_losses,)):
            means = self._means(regularization_losses, MetricKeys.LOSS_MEAN)
            return {**means, self._summary_key(key): tf.keras.metrics.Accuracy(name=key)}

    def update_metrics(  # as TF's, it takes no mode
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics, after they were updated by a batch."""
        ids = self.predictions(logits)[PredictionKeys.CLASS_IDS]
        logits = checked_logits(logits, self._logits_dimension)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._losses_and_weights(logits, labels, features)
        eval_metrics[self._summary_key(MetricKeys.LOSS_MEAN)].update_state(
            values=losses, sample_weight=weights
        )
        eval_metrics[self._summary_key(MetricKeys.ACCURACY)].update_state(
            y_true=labels, y_pred=ids, sample_weight=weights
        )
        self._update_regularization(eval_metrics, regularization_losses)
        return eval_metrics

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {
            ServingKeys.CLASSIFY: classification_output(
                predictions[PredictionKeys.PROBABILITIES], self._logits_dimension,
                self._label_vocabulary,
            )
        }  # fmt: skip
