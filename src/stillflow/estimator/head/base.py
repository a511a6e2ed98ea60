"""tf.estimator.Head: what a head must do, and what all heads of one kind of logits do alike."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.head_inputs import (
    called_loss_fn,
    check_loss_fn,
    checked_logits,
    example_weights,
    labels_in_range,
)
from stillflow.estimator.canned.keys import MetricKeys, ServingKeys, key_of_head
from stillflow.estimator.canned.metrics import weights_like
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export, redefinable
from stillflow.graph.operation import Operation, Tensor
from stillflow.keras.losses.base import Reduction, compute_weighted_loss
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.saved_model.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY


@export("estimator.Head")
class Head(abc.ABC):
    """Head: makes an `EstimatorSpec` of a model's logits."""

    @property
    @abc.abstractmethod
    def name(self) -> Any:
        """The name of the head, or None."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> Any:
        """The last dimension of the logits."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> Any:
        """The reduction of the examples' losses."""

    @abc.abstractmethod
    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: Any = None,
        regularization_losses: Any = None,
    ) -> Any:  # fmt: skip
        """Return the loss as a scalar, with those of regularization."""

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Any = None) -> dict[Any, Any]:
        """{name: prediction}, or those of `keys` alone."""

    @abc.abstractmethod
    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """{name: `tf.keras.metrics.Metric`}."""

    @abc.abstractmethod
    @redefinable
    def update_metrics(
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        mode: Any = None, regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics, after they were updated by a batch."""

    def create_estimator_spec(
        self, features: Any, mode: Any, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Any = None, update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """Return the `EstimatorSpec` for a model function.

        Args:
          features: {name: tensor}.
          mode: one of `ModeKeys`.
          logits: [D0, ..., DN, logits_dimension].
          labels: the targets; not needed to predict.
          optimizer: a `tf.keras.optimizers.Optimizer`.
          trainable_variables: what the optimizer trains, as a list or tuple.
          train_op_fn: returns the training step of a loss, instead of an optimizer.
          update_ops: run in each step, as a list or tuple.
          regularization_losses: scalars, added to the loss.

        Raises:
          ValueError: if an argument of training is none of these.
          NotImplementedError: if the head has no way to do this.
        """
        raise NotImplementedError(
            "Subclasses of Head must implement `create_estimator_spec()` or "
            "_create_tpu_estimator_spec()."
        )

    def _summary_key(self, key: str) -> str:
        return key_of_head(self.name, key)


class LogitsHead(Head):
    """Head of one kind of logits; subclasses define labels, losses, predictions and metrics.

    Args:
      logits_dimension: the last dimension of the logits.
      weight_column: of the weights of examples: a name, a numeric column, or None.
      loss_reduction: a `tf.losses.Reduction` that gives a scalar.
      loss_fn: of the program's own; None for that of the head.
      name: of the scope of its operations; appended to the names of metrics and summaries.

    Raises:
      ValueError: if the reduction or the function is none of these.
    """

    _per_logit_weights = False

    def __init__(
        self, logits_dimension: Any, weight_column: Any, loss_reduction: Any,
        loss_fn: Callable[..., Any] | None, name: str | None,
    ) -> None:  # fmt: skip
        check_reduction(loss_reduction)
        check_loss_fn(loss_fn, "loss_reduction")
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self) -> Any:
        """The name of the head, or None."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """The last dimension of the logits."""
        return self._logits_dimension

    @property
    def loss_reduction(self) -> Any:
        """The reduction of the examples' losses."""
        return self._loss_reduction

    @abc.abstractmethod
    def _processed_labels(self, logits: Any, labels: Any) -> Any:
        """Return the labels as numbers, checked."""

    @abc.abstractmethod
    def _own_loss(self, labels: Any, logits: Any) -> Any:
        """Return the loss of each example, where the program has none of its own."""

    @abc.abstractmethod
    def _export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return the exported outputs except `predict`; the first one is the default."""

    def _loss_dimension(self) -> int:
        return 1

    def _losses_and_weights(self, logits: Any, labels: Any, features: Any) -> tuple[Any, Any]:
        if self._loss_fn:
            losses = called_loss_fn(self._loss_fn, labels, logits, features, self._loss_dimension())
        else:
            losses = self._own_loss(labels, logits)
        weights = example_weights(
            features, self._weight_column, logits, per_logit=self._per_logit_weights
        )
        return losses, weights

    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: Any = None,
        regularization_losses: Any = None,
    ) -> Tensor:  # fmt: skip
        """Return the loss as a scalar, with those of regularization."""
        with tf.name_scope(None, "losses", (logits, labels)):
            logits = checked_logits(logits, self._logits_dimension)
            labels = self._processed_labels(logits, labels)
            losses, weights = self._losses_and_weights(logits, labels, features)
            loss = compute_weighted_loss(losses, weights, reduction=self._loss_reduction)
            return with_regularization(loss, regularization_losses)

    def create_estimator_spec(
        self, features: Any, mode: Any, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Any = None, update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """Return the `EstimatorSpec` for a model function; see `Head`."""
        with tf.name_scope(self._name, "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self._served(predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                metrics = self.metrics(regularization_losses)
            else:
                train_op = train_operation(
                    loss, optimizer, trainable_variables, train_op_fn, update_ops
                )
        if mode == ModeKeys.EVAL:
            updated = self.update_metrics(
                metrics, features, logits, labels, regularization_losses=regularization_losses
            )
            return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=updated)
        summarize_losses(loss, regularization_losses, self._summary_key)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _served(self, predictions: dict[str, Any]) -> dict[str, Any]:
        outputs = self._export_outputs(predictions)
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: next(iter(outputs.values())), **outputs,
            ServingKeys.PREDICT: PredictOutput(predictions),
        }  # fmt: skip

    def _means(self, regularization_losses: Any, *keys: str) -> dict[str, Any]:
        """Return a mean for each key, and for the loss of regularization if there is one."""
        if regularization_losses is not None:
            keys = (*keys, MetricKeys.LOSS_REGULARIZATION)
        return {self._summary_key(key): tf.keras.metrics.Mean(name=key) for key in keys}

    def _update_regularization(self, metrics: dict[str, Any], regularization_losses: Any) -> None:
        if regularization_losses is not None:
            key = self._summary_key(MetricKeys.LOSS_REGULARIZATION)
            metrics[key].update_state(values=tf.add_n(regularization_losses))


def check_reduction(reduction: Any) -> None:
    """Raise ValueError for a reduction that does not give a scalar."""
    if reduction not in Reduction.all() or reduction == Reduction.NONE:
        raise ValueError(
            f"Invalid loss_reduction: {reduction}. See `tf.losses.Reduction` for valid options."
        )


def checked_range(labels: Any, n_classes: Any, message: str | None = None) -> Tensor:
    """Return the labels, which must lie in [0, n_classes) when they are computed."""
    return labels_in_range(labels, n_classes, message, "check_label_range", "Labels must be")


def with_regularization(loss: Any, regularization_losses: Any) -> Tensor:
    """Return a loss with those of regularization, if there are some."""
    if regularization_losses is None:
        return loss
    return loss + tf.add_n(regularization_losses)


def train_operation(
    loss: Any, optimizer: Any, trainable_variables: Any, train_op_fn: Any, update_ops: Any
) -> Operation:
    """Return the step of an optimizer or a function, not both, with updates."""
    _check_listed("update_ops", update_ops)
    with tf.name_scope(""), tf.name_scope("training"):
        if optimizer is not None and train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        if optimizer is not None:
            if not isinstance(optimizer, OptimizerV2):
                raise ValueError(
                    "The given optimizer is not a tf.keras.optimizers.Optimizer instance. Given: "
                    f"{optimizer}"
                )
            if trainable_variables is None:
                raise ValueError("trainable_variables cannot be None. Given None")
            _check_listed("trainable_variables", trainable_variables)
            train_op = optimizer.get_updates(loss, trainable_variables)[0]
        elif train_op_fn is not None:
            train_op = train_op_fn(loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return train_op if update_ops is None else tf.group(train_op, *update_ops)


def _check_listed(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} should be a list or a tuple. Given type: {type(value)}.")


def summarize_losses(
    loss: Any, regularization_losses: Any, key_of: Callable[[str], str] = str
) -> None:
    """Summaries of the loss, and of the part of it that is regularization."""
    with tf.name_scope(""):
        tf.summary.scalar(key_of(MetricKeys.LOSS), loss)
        if regularization_losses is not None:
            total = tf.add_n(regularization_losses)
            tf.summary.scalar(key_of(MetricKeys.LOSS_REGULARIZATION), total)


def update_with_weights_like(metric: Any, values: Any, weights: Any) -> None:
    """Update a mean by values, with weights in their shape."""
    values = tf.to_float(values)
    metric.update_state(values=values, sample_weight=weights_like(values, weights))


def check_prediction_keys(keys: Any, valid: list[str]) -> list[str]:
    """Return the keys that are asked for, all if none are; ValueError for others."""
    for key in keys or ():
        if key not in valid:
            raise ValueError(
                f"Prediction key must be in PredictionKeys, given: {key}.Valid prediction keys "
                f"include {valid}."
            )
    return keys or valid
