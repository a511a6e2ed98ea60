"""Heads, and the base of those with one loss."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import tf_logging as logging
from stillflow.train.adagrad import AdagradOptimizer
from stillflow.util.deprecation import deprecated
from stillflow_contrib.learn.keys import MetricKey, PredictionKey
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps

MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.INFER)
old_head = deprecated(None, "Please switch to tf.contrib.estimator.*_head.")


@export("contrib.learn.Head")
class Head(abc.ABC):
    """Head: the end of a model, from logits to loss, predictions and metrics."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The number of logits of the head."""

    @abc.abstractmethod
    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Any = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        """Build the model.

        Args:
          features: tensors by name.
          mode: a `ModeKeys`.
          labels: a tensor, or tensors by name.
          train_op_fn: makes a training operation of a loss; needed to train.
          logits: [batch, logits_dimension].
          logits_input: [batch, width]; instead of `logits`, which a linear layer makes of it.
          scope: the variable scope.
        """


def check_mode(mode: str) -> None:
    """Raise an error for an unknown mode."""
    if mode not in MODES:
        raise ValueError(f"mode={mode} unrecognized.")


def summary_key(head_name: str | None, key: str) -> str:
    """Return the name of a metric, which ends in the head's if it has one."""
    return f"{key}/{head_name}" if head_name else key


def add_loss_summary(loss: Any, head_name: str | None) -> None:
    """Add the summary of a loss, outside of all scopes."""
    with tf.name_scope(""):
        tf.summary.scalar(summary_key(head_name, MetricKey.LOSS), tf.identity(loss))


def require_train_op(train_op_fn: Any, end: str = "") -> None:
    """Raise an error for training without a training operation."""
    if train_op_fn is None:
        raise ValueError(f"train_op_fn can not be None in TRAIN mode{end}")


class _SingleHead(Head):
    """Head with one loss; subclasses define labels, predictions and metrics.

    Args:
      problem_type: a `ProblemType`.
      logits_dimension: how many logits it takes.
      loss_fn: (labels, logits, weights) -> (loss, average loss of an example).
      label_name: which labels it takes, if they are a dict.
      weight_column_name: the feature that weights examples.
      enable_centered_bias: whether a bias of its own follows the labels' average.
      head_name: of the variable scope, and the end of the metrics' names.

    Raises:
      ValueError: if there are no logits.
    """

    _scope = ""

    def __init__(
        self,
        problem_type: int,
        logits_dimension: int,
        loss_fn: Callable[..., Any],
        label_name: str | None = None,
        weight_column_name: str | None = None,
        enable_centered_bias: bool = False,
        head_name: str | None = None,
    ) -> None:
        _check_dimension(logits_dimension)
        self._problem_type = problem_type
        self._logits_dimension = logits_dimension
        self._loss_fn = loss_fn
        self._label_name = label_name
        self._weight_column_name = weight_column_name
        self._enable_centered_bias = enable_centered_bias
        self._head_name = head_name

    @property
    def logits_dimension(self) -> int:
        """The number of logits of the head."""
        return self._logits_dimension

    @property
    def label_name(self) -> str | None:
        """The name of its labels."""
        return self._label_name

    @property
    def weight_column_name(self) -> str | None:
        """The feature that weights examples."""
        return self._weight_column_name

    @property
    def head_name(self) -> str | None:
        """Its name."""
        return self._head_name

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Any = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        """Build the model: see `Head`."""
        values = (*features.values(), labels, logits, logits_input)
        with tf.variable_scope(scope, default_name=self.head_name or self._scope, values=values):
            if mode == ModeKeys.INFER or labels is None:
                labels = None
            else:
                labels = self._transform_labels(labels)
            logits = _logits(logits_input, logits, self.logits_dimension)
            return self._model(features, mode, labels, train_op_fn, logits)

    def _model(
        self, features: Any, mode: str, labels: Any, train_op_fn: Any, logits: Any
    ) -> ModelFnOps:
        check_mode(mode)
        bias = None
        if self._enable_centered_bias:
            bias = _centered_bias(self.logits_dimension, self.head_name)
            logits = tf.nn.bias_add(logits, bias)
        predictions = self._logits_to_predictions(logits)
        loss = train_op = metrics = None
        if mode != ModeKeys.INFER and labels is not None:
            weights = _weight_tensor(features, self.weight_column_name)
            loss, average = self._loss(labels, logits, weights)
            add_loss_summary(average, self.head_name)
            if mode == ModeKeys.TRAIN:
                require_train_op(train_op_fn)
                step = None
                batch_size = tf.shape(logits)[0]
                if bias is not None:
                    step = self._centered_bias_step(bias, batch_size, labels, weights)
                train_op = _train_op(loss, labels, train_op_fn, step)
            metrics = self._metrics(average, predictions, labels, weights)
        return ModelFnOps(
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=metrics,
            output_alternatives=self._output_alternatives(predictions),
        )

    def _loss(self, labels: Any, logits: Any, weights: Any) -> tuple[Tensor, Tensor]:
        return self._loss_fn(labels, logits, weights)

    def _centered_bias_step(
        self, bias: Any, batch_size: Any, labels: Any, weights: Any
    ) -> Operation:
        """Move the bias towards the prediction of the labels alone."""
        with tf.name_scope(None, "centered_bias_step", (labels,)) as name:
            shape = batch_size, tf.shape(bias)[0]
            copies = tf.reshape(tf.tile(bias, shape[:1]), shape)
            with tf.name_scope(None, "centered_bias", (labels, copies)):
                loss = tf.reduce_mean(self._loss(labels, copies, weights), name="training_loss")
        return AdagradOptimizer(0.1).minimize(loss, var_list=(bias,), name=name)

    def _transform_labels(self, labels: Any) -> Tensor | dict[str, Tensor]:
        """Return the labels as a tensor."""
        labels = self._labels_tensor(labels)
        if isinstance(labels, tf.SparseTensor):
            raise ValueError("SparseTensor is not supported.")
        return labels

    def _key(self, key: str) -> str:
        return summary_key(self.head_name, key)

    def _accuracy(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        """Return the metrics of all classification heads: the loss, and the accuracy."""
        classes = predictions[PredictionKey.CLASSES]
        return {
            self._key(MetricKey.LOSS): tf.metrics.mean(eval_loss),
            self._key(MetricKey.ACCURACY): tf.metrics.accuracy(labels, classes, weights),
        }

    def _labels_tensor(self, labels: Any) -> Tensor:
        labels = labels[self._label_name] if isinstance(labels, dict) else labels
        return tf.contrib.framework.convert_to_tensor_or_sparse_tensor(labels)

    @abc.abstractmethod
    def _logits_to_predictions(self, logits: Any) -> dict[str, Any]:
        """Predictions by `PredictionKey`."""

    @abc.abstractmethod
    def _metrics(
        self, eval_loss: Any, predictions: dict[str, Any], labels: Any, weights: Any
    ) -> dict[str, Any]:
        """Metrics by `MetricKey`."""

    def _output_alternatives(self, predictions: dict[str, Any]) -> dict[Any, Any]:
        """Return the exported outputs."""
        return {self._head_name: (self._problem_type, predictions)}


def _check_dimension(logits_dimension: Any) -> None:
    if logits_dimension is None or logits_dimension < 1:
        raise ValueError(f"Invalid logits_dimension {logits_dimension}.")


def _logits(logits_input: Any, logits: Any, logits_dimension: int) -> Tensor:
    """Return the logits, or a linear layer that makes them."""
    if logits is None:
        if logits_input is None:
            raise ValueError("Neither logits nor logits_input supplied.")
        return tf.contrib.layers.linear(logits_input, logits_dimension, scope="logits")
    if logits_input is not None:
        raise ValueError("Both logits and logits_input supplied.")
    logits = tf.convert_to_tensor(logits, name="logits")
    if logits.get_shape().dims is not None:
        logits.get_shape().dims[-1].assert_is_compatible_with(logits_dimension)
    return logits


def _centered_bias(logits_dimension: int, head_name: str | None) -> Any:
    bias = tf.Variable(tf.zeros([logits_dimension]), trainable=True, name="centered_bias_weight")
    for place in range(logits_dimension):
        tag = f"centered_bias/bias_{place}"
        tf.summary.scalar(f"{tag}/{head_name}" if head_name else tag, bias[place])
    return bias


def _weight_tensor(features: Any, weight_column_name: str | None) -> Tensor | None:
    """Return the weights of examples, [batch, ...], or None."""
    if not weight_column_name:
        return None
    if weight_column_name not in features:
        raise ValueError(f"Weights {weight_column_name} missing from features.")
    with tf.name_scope(None, "weight_tensor", tuple(features.values())):
        weights = tf.cast(features[weight_column_name], tf.float32)
        shape = weights.get_shape()
        if shape.ndims != 1:
            return weights
        logging.warning(f"Weights {weight_column_name} has shape {shape}, expanding to make it 2d.")
        if isinstance(weights, tf.SparseTensor):
            return tf.sparse_reshape(weights, (-1, 1))
        return tf.reshape(weights, (-1, 1))


def _train_op(loss: Any, labels: Any, train_op_fn: Any, bias_step: Any) -> Tensor | Operation:
    with tf.name_scope(None, "train_op", (loss, labels)):
        train_op = train_op_fn(loss)
        return train_op if bias_step is None else tf.group(train_op, bias_step)
