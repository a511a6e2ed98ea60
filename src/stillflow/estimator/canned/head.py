"""Heads: predictions, loss, training step, metrics and exported outputs in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.estimator.canned.keys import MetricKeys, PredictionKeys, ServingKeys, key_of_head
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.api import get_collection, name_scope
from stillflow.graph.export import redefinable
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.losses.reduction import Reduction, compute_weighted_loss
from stillflow.metrics.means import mean
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.add_n import add_n
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.summary.numbers import scalar
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.saved_model.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from stillflow.train.global_step import get_global_step


class LossSpec(NamedTuple):
    """A loss in parts: reduced, of each example, the weights, and the labels as numbers."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    processed_labels: Any


class Head:
    """Head: makes an `EstimatorSpec` of a model's logits.

    Args:
      logits_dimension: the last dimension of the logits.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      loss_reduction: a `tf.losses.Reduction`.
      loss_fn: of the program's own; None for that of the head.
      name: of the scope of its operations; appended to the names of metrics and summaries.
    """

    def __init__(
        self, logits_dimension: Any, weight_column: Any = None,
        loss_reduction: Any = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self) -> str | None:
        """The name of the head, if it has one."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """The last dimension of the logits."""
        return self._logits_dimension

    @redefinable
    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        """Return the loss of logits [D0, ..., DN, logits_dimension], given the labels."""
        raise NotImplementedError

    def _predict(self, logits: Any) -> tuple[Any, dict[str, Any]]:
        """Return the logits, checked, and the predictions from them."""
        raise NotImplementedError

    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return the exported outputs except `predict`; the first one is the default."""
        raise NotImplementedError

    def _eval_metrics(
        self, labels: Any, predictions: dict[str, Any], loss: LossSpec, regularization: Any
    ) -> Any:
        """{name: metric} from labels as given; `regularization` was added to the loss, or None."""
        raise NotImplementedError

    def _key(self, key: str) -> str:
        return key_of_head(self._name, key)

    def _reduced(self, unreduced: Any, weights: Any, labels: Any) -> LossSpec:
        reduced = compute_weighted_loss(unreduced, weights=weights, reduction=self._loss_reduction)
        return LossSpec(reduced, unreduced, weights, labels)

    @redefinable
    def create_estimator_spec(
        self, features: Any, mode: Any, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None, regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """Return the `EstimatorSpec` for a model function.

        Args:
          features: {name: tensor}.
          mode: one of `ModeKeys`.
          logits: [D0, ..., DN, logits_dimension].
          labels: the targets; not needed to predict.
          optimizer: makes a step in training.
          train_op_fn: returns the training step of a loss, instead of an optimizer.
          regularization_losses: scalars, added to the loss.

        Raises:
          ValueError: if both or neither of optimizer and `train_op_fn` are given in training.
        """
        with name_scope(self._name, "head"):
            logits, predictions = self._predict(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self._served(predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            loss = self.create_loss(features=features, mode=mode, logits=logits, labels=labels)
            total, regularization = loss.training_loss, None
            if regularization_losses:
                regularization = add_n(regularization_losses)
                total = add_n([loss.training_loss, regularization])
            if mode != ModeKeys.EVAL:
                train_op = _train_op(total, optimizer, train_op_fn)
                mean_loss = self._mean_loss(loss)
        if mode == ModeKeys.EVAL:
            known = {**predictions, PredictionKeys.LOGITS: logits}
            metrics = self._eval_metrics(labels, known, loss, regularization)
            return EstimatorSpec(mode, predictions=predictions, loss=total, eval_metric_ops=metrics)
        self._summarize(total, mean_loss, regularization)
        return EstimatorSpec(mode, predictions=predictions, loss=total, train_op=train_op)

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        outputs = self._export_outputs(predictions)
        default = next(iter(outputs.values()))
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: default, **outputs,
            ServingKeys.PREDICT: PredictOutput(predictions),
        }  # fmt: skip

    def _mean_loss(self, loss: LossSpec) -> Tensor | None:
        """Return the loss of an example, where the reduction does not give it."""
        if self._loss_reduction != Reduction.SUM:
            return None
        weight = reduce_sum(loss.weights * ones_like(loss.unreduced_loss))
        return loss.training_loss / weight

    def _summarize(self, total: Any, mean_loss: Any, regularization: Any) -> None:
        shown = {
            MetricKeys.LOSS: total, MetricKeys.LOSS_MEAN: mean_loss,
            MetricKeys.LOSS_REGULARIZATION: regularization,
        }  # fmt: skip
        with name_scope(""):
            for key, value in shown.items():
                if value is not None:
                    scalar(self._key(key), value)

    def _regularization_metric(self, loss: Any) -> dict[str, Any]:
        """Return the metric of the loss that was added, if there is one."""
        key = MetricKeys.LOSS_REGULARIZATION
        return {} if loss is None else {self._key(key): mean(loss, name=key)}


def _train_op(loss: Any, optimizer: Any, train_op_fn: Callable[[Any], Any] | None) -> Any:
    """Return the step of an optimizer or a function, with the updates that layers collected."""
    if optimizer is not None and train_op_fn is not None:
        raise ValueError("train_op_fn and optimizer cannot both be set.")
    if optimizer is not None:
        train_op = optimizer.minimize(loss, global_step=get_global_step())
    elif train_op_fn is not None:
        train_op = train_op_fn(loss)
    else:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    updates = get_collection(GraphKeys.UPDATE_OPS)
    return group(train_op, *updates) if updates else train_op
