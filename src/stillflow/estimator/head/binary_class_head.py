"""tf.estimator.BinaryClassHead: two classes by one logit, by the sigmoid cross entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.classes import classification_output, ids_of_words
from stillflow.estimator.canned.head_inputs import (
    check_vocabulary,
    checked_logits,
    checked_thresholds,
    labels_of_head,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.canned.metrics import weights_like
from stillflow.estimator.head.base import (
    LogitsHead,
    check_prediction_keys,
    checked_range,
    update_with_weights_like,
)
from stillflow.estimator.head.class_predictions import CLASS_KEYS, class_predictions
from stillflow.estimator.head.thresholds import metrics_at, update_at
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.losses.base import Reduction
from stillflow.saved_model.export_outputs import RegressionOutput

_COUNTED = (MetricKeys.ACCURACY, MetricKeys.PRECISION, MetricKeys.RECALL)
_CURVES = (MetricKeys.AUC, MetricKeys.AUC_PR)


@export("estimator.BinaryClassHead")
class BinaryClassHead(LogitsHead):
    """Two classes by one logit.

    Args:
      weight_column: of the weights of examples: a name, a numeric column, or None.
      thresholds: at which probabilities accuracy, precision and recall are measured besides.
      label_vocabulary: the two words that labels are; None if they are numbers in [0, 1].
      loss_reduction: a `tf.losses.Reduction` that gives a scalar.
      loss_fn: gives the losses of examples from `labels`, `logits` and `features`.
      name: of the scope of its operations; appended to the names of metrics and summaries.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
        loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        check_vocabulary(label_vocabulary, ValueError, "a list or a tuple")
        self._thresholds = checked_thresholds(thresholds)
        super().__init__(1, weight_column, loss_reduction, loss_fn, name)
        self._label_vocabulary = label_vocabulary

    def _processed_labels(self, logits: Any, labels: Any) -> Tensor:
        labels = labels_of_head(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = ids_of_words(labels, self._label_vocabulary)
        return checked_range(tf.to_float(labels), 2)

    def _own_loss(self, labels: Any, logits: Any) -> Tensor:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """{name: prediction}, or those of `keys` alone."""
        names = PredictionKeys
        keys = check_prediction_keys(keys, [names.LOGITS, names.LOGISTIC, *CLASS_KEYS])
        logits = checked_logits(logits, 1)
        found = {}
        with tf.name_scope(None, "predictions", (logits,)):
            if names.LOGITS in keys:
                found[names.LOGITS] = logits
            if names.LOGISTIC in keys:
                found[names.LOGISTIC] = tf.sigmoid(logits, name=names.LOGISTIC)
            both = tf.concat((tf.zeros_like(logits), logits), axis=-1, name="two_class_logits")
            return {**found, **class_predictions(both, logits, keys, self._label_vocabulary)}

    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """Means of losses, labels and predictions, and how good the classes are."""
        keys, made = MetricKeys, tf.keras.metrics
        kinds = {
            keys.LOSS_MEAN: made.Mean, keys.ACCURACY: made.Accuracy,
            keys.PRECISION: made.Precision, keys.RECALL: made.Recall,
            keys.PREDICTION_MEAN: made.Mean, keys.LABEL_MEAN: made.Mean,
            keys.ACCURACY_BASELINE: made.Mean, keys.AUC: made.AUC,
        }  # fmt: skip
        with tf.name_scope(None, "metrics", (regularization_losses,)):
            metrics = {self._summary_key(key): kind(name=key) for key, kind in kinds.items()}
            metrics[self._summary_key(keys.AUC_PR)] = made.AUC(curve="PR", name=keys.AUC_PR)
            metrics.update(self._means(regularization_losses))
            return {**metrics, **metrics_at(self._thresholds, self._summary_key)}

    def update_metrics(  # as TF's, it takes no mode
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics, after they were updated by a batch."""
        ids = self.predictions(logits)[PredictionKeys.CLASS_IDS]
        logits = checked_logits(logits, 1)
        labels = self._processed_labels(logits, labels)
        losses, weights = self._losses_and_weights(logits, labels, features)
        of = {key: eval_metrics[self._summary_key(key)] for key in (*_COUNTED, *_CURVES)}
        mean_of = {
            key: eval_metrics[self._summary_key(key)]
            for key in (
                MetricKeys.LOSS_MEAN, MetricKeys.PREDICTION_MEAN, MetricKeys.LABEL_MEAN,
                MetricKeys.ACCURACY_BASELINE,
            )
        }  # fmt: skip
        mean_of[MetricKeys.LOSS_MEAN].update_state(values=losses, sample_weight=weights)
        for key in _COUNTED:
            of[key].update_state(y_true=labels, y_pred=ids, sample_weight=weights)
        logistic = self.predictions(logits, [PredictionKeys.LOGISTIC])[PredictionKeys.LOGISTIC]
        update_with_weights_like(mean_of[MetricKeys.PREDICTION_MEAN], logistic, weights)
        update_with_weights_like(mean_of[MetricKeys.LABEL_MEAN], labels, weights)
        _follow(mean_of[MetricKeys.ACCURACY_BASELINE], mean_of[MetricKeys.LABEL_MEAN])
        for key in _CURVES:
            predicted = tf.to_float(logistic)
            of[key].update_state(
                y_true=labels, y_pred=predicted, sample_weight=weights_like(predicted, weights)
            )
        self._update_regularization(eval_metrics, regularization_losses)
        update_at(eval_metrics, self._thresholds, self._summary_key, labels, logistic, weights)
        return eval_metrics

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        scores = predictions[PredictionKeys.PROBABILITIES]
        return {
            ServingKeys.CLASSIFY: classification_output(scores, 2, self._label_vocabulary),
            ServingKeys.REGRESS: RegressionOutput(predictions[PredictionKeys.LOGISTIC]),
        }


def _follow(baseline: Any, label_mean: Any) -> None:
    """Make a mean that of always answering the more frequent class."""
    baseline._updates = [tf.no_op()]
    baseline.total = tf.maximum(label_mean.total, label_mean.count - label_mean.total)
    baseline.count = label_mean.count
