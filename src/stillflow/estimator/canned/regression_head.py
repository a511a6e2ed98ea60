"""The head of canned regressors: numbers by the mean squared error, or a loss of the program's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.estimator.canned.head import Head, LossSpec
from stillflow.estimator.canned.head_inputs import (
    called_loss_fn,
    check_loss_fn,
    check_reduction,
    checked_logits,
    dense_labels,
    example_weights,
)
from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys
from stillflow.estimator.canned.metrics import mean_of
from stillflow.graph.conversion import convert_to_tensor
from stillflow.losses.reduction import Reduction
from stillflow.losses.regression import mean_squared_error
from stillflow.metrics.means import mean
from stillflow.ops.math.cast import to_float
from stillflow.saved_model.export_outputs import RegressionOutput


class RegressionHead(Head):
    """Numbers, each from a logit.

    Args:
      weight_column, loss_reduction, loss_fn, name: as of `Head`.
      label_dimension: how many numbers an example has.
      inverse_link_fn: turns logits into predictions; None if they are it.

    Raises:
      ValueError: if an argument is none of these.
    """

    def __init__(
        self, weight_column: Any = None, label_dimension: int = 1,
        loss_reduction: Any = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        check_reduction(loss_reduction)
        check_loss_fn(loss_fn)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._inverse_link_fn = inverse_link_fn

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        logits, dimension = convert_to_tensor(logits), self._logits_dimension
        labels = to_float(dense_labels(labels, logits, dimension))
        if self._loss_fn:
            unreduced = called_loss_fn(self._loss_fn, labels, logits, features, dimension)
        else:
            unreduced = mean_squared_error(
                labels=labels, predictions=logits, reduction=Reduction.NONE
            )
        weights = example_weights(features, self._weight_column, logits, per_logit=True)
        return self._reduced(unreduced, weights, labels)

    def _predict(self, logits: Any) -> tuple[Any, dict[str, Any]]:
        logits = checked_logits(logits, self._logits_dimension)
        if not self._inverse_link_fn:
            return logits, {PredictionKeys.PREDICTIONS: logits}
        predicted = self._inverse_link_fn(logits)
        return logits, {PredictionKeys.PREDICTIONS: predicted, PredictionKeys.LOGITS: logits}

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return {ServingKeys.REGRESS: RegressionOutput(predictions[PredictionKeys.PREDICTIONS])}

    def _eval_metrics(
        self, labels: Any, predictions: dict[str, Any], loss: LossSpec, regularization: Any
    ) -> dict[str, Any]:
        keys, weights = MetricKeys, loss.weights
        predicted = predictions[PredictionKeys.PREDICTIONS]
        return {
            self._key(keys.LOSS_MEAN): mean(loss.unreduced_loss, weights=weights),
            self._key(keys.PREDICTION_MEAN): mean_of(
                predicted, weights, keys.PREDICTION_MEAN, "predictions"
            ),
            self._key(keys.LABEL_MEAN): mean(labels, weights=weights),
            **self._regularization_metric(regularization),
        }
