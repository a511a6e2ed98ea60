"""Heads that predict numbers: any, counts (Poisson), and numbers in [0, 1] (logistic)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.head_inputs import (
    checked_logits,
    labels_of_head,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.head.base import LogitsHead, checked_range, update_with_weights_like
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.losses.base import Reduction
from stillflow.saved_model.export_outputs import RegressionOutput


@export("estimator.RegressionHead")
class RegressionHead(LogitsHead):
    """Numbers, each from a logit, by the mean squared error.

    Args:
      label_dimension: how many numbers a label has.
      weight_column, loss_reduction, loss_fn, name: as of `BinaryClassHead`.
      inverse_link_fn: turns logits into predictions; None if they are it.

    Raises:
      ValueError: if an argument is none of these.
    """

    _per_logit_weights = True

    def __init__(
        self, label_dimension: int = 1, weight_column: Any = None,
        loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn = inverse_link_fn

    def _loss_dimension(self) -> int:
        dimension: int = self._logits_dimension
        return dimension

    def _processed_labels(self, logits: Any, labels: Any) -> Tensor:
        return tf.to_float(labels_of_head(labels, logits, self._logits_dimension))

    def _own_loss(self, labels: Any, logits: Any) -> Tensor:
        return tf.losses.mean_squared_error(
            labels=labels, predictions=logits, reduction=tf.losses.Reduction.NONE
        )

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Return the numbers, and the logits if they are others."""
        logits = checked_logits(logits, self._logits_dimension)
        with tf.name_scope(None, "predictions", (logits,)):
            if not self._inverse_link_fn:
                return {PredictionKeys.PREDICTIONS: logits}
            predicted = self._inverse_link_fn(logits)
            return {PredictionKeys.PREDICTIONS: predicted, PredictionKeys.LOGITS: logits}

    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """Means of losses, predictions and labels."""
        keys = MetricKeys
        with tf.name_scope(None, "metrics", (regularization_losses,)):
            return self._means(
                regularization_losses, keys.LOSS_MEAN, keys.PREDICTION_MEAN, keys.LABEL_MEAN
            )

    def update_metrics(  # as TF's, it takes no mode
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics, after they were updated by a batch."""
        predicted = self.predictions(logits)[PredictionKeys.PREDICTIONS]
        logits = checked_logits(logits, self._logits_dimension)
        processed = self._processed_labels(logits, labels)
        losses, weights = self._losses_and_weights(logits, processed, features)
        for key, values in ((MetricKeys.LOSS_MEAN, losses), (MetricKeys.LABEL_MEAN, labels)):
            eval_metrics[self._summary_key(key)].update_state(values=values, sample_weight=weights)
        mean = eval_metrics[self._summary_key(MetricKeys.PREDICTION_MEAN)]
        update_with_weights_like(mean, predicted, weights)
        self._update_regularization(eval_metrics, regularization_losses)
        return eval_metrics

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {ServingKeys.REGRESS: RegressionOutput(predictions[PredictionKeys.PREDICTIONS])}


@export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts: the exponential of a logit is the mean of a Poisson distribution.

    Args:
      compute_full_loss: whether the loss has the term of Stirling's approximation.
      label_dimension, weight_column, loss_reduction, name: as of `RegressionHead`.
    """

    def __init__(
        self, label_dimension: int = 1, weight_column: Any = None,
        loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE, compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:  # fmt: skip
        def poisson_loss(labels: Any, logits: Any) -> Tensor:
            return tf.nn.log_poisson_loss(labels, logits, compute_full_loss)

        super().__init__(label_dimension, weight_column, loss_reduction, poisson_loss, tf.exp, name)


@export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Numbers in [0, 1]: the sigmoid of a logit, by its cross entropy.

    Args:
      weight_column, loss_reduction, name: as of `RegressionHead`.
    """

    def __init__(
        self, weight_column: Any = None, loss_reduction: Any = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(1, weight_column, loss_reduction, _logistic_loss, tf.sigmoid, name)


def _logistic_loss(labels: Any, logits: Any) -> Tensor:
    message = "Labels must be in range [0, 1]"
    labels = checked_range(labels, 2, message)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
