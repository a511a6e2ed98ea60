"""The model function of linear estimators of `tf.contrib.learn` with dual coordinate ascent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Operation
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.train.global_step import get_global_step
from stillflow_contrib.learn.heads.classification import _BinaryLogisticHead, _BinarySvmHead
from stillflow_contrib.learn.heads.regression import _RegressionHead
from stillflow_contrib.linear_optimizer.optimizer import SDCAOptimizer

if TYPE_CHECKING:
    from stillflow_contrib.learn.model_fn_ops import ModelFnOps


_BIAS = "tf_virtual_bias_column"
_LOSSES = (
    (_BinarySvmHead, "hinge_loss"), (_BinaryLogisticHead, "logistic_loss"),
    (_RegressionHead, "squared_loss"),
)  # fmt: skip


def loss_of(head: Any) -> str | None:
    """Return the loss of a head; None for others."""
    return next((loss for kind, loss in _LOSSES if isinstance(head, kind)), None)


_NO_COLUMNS = "feature_columns can't be empty."


def _add_bias_column(columns: Any, tensors: Any, bias: Any, variables: Any) -> None:
    """Add a column of ones, whose weight is the bias.

    Args:
      columns: all others.
      tensors: features by column and name, where it is added.
      bias: the variable.
      variables: of the columns, where it is added.

    Raises:
      ValueError: if there are no columns, or one of this name.
    """
    reserved = any(column.name is _BIAS for column in columns)
    if reserved or not columns:
        words = f"{_BIAS} is a reserved column name." if reserved else _NO_COLUMNS
        raise ValueError(words)
    size = _batch_size(tensors)
    if size is None:
        raise ValueError("Could not infer batch size from input features.")
    column = tf.contrib.layers.real_valued_column(_BIAS)
    tensors[column], variables[column] = tf.ones([size, 1], dtype=tf.float32), [bias]


def _batch_size(tensors: Any) -> Any:
    for tensor in tensors.values():
        first = tensor[0] if isinstance(tensor, tuple) else tensor
        if not isinstance(first, SparseTensor):
            return tf.shape(first)[0]
        shape = constant_value(first.dense_shape)
        if shape is not None:
            return shape[0]
    return None


def build(
    features: Any, labels: Any, mode: str, params: dict[str, Any], optimizer: SDCAOptimizer,
    loss_type: str,
) -> ModelFnOps:  # fmt: skip
    """Build the model.

    Args:
      features, labels, mode: as a model function is given them.
      params: the head, columns, `weight_column_name` and the hook that updates weights.
      optimizer: trains the model.
      loss_type: of the head.

    Returns:
      `ModelFnOps`.
    """
    head, columns = params["head"], params["feature_columns"]
    hook, layers = params.get("update_weights_hook"), tf.contrib.layers
    with tf.variable_scope(
        values=features.values(), name_or_scope="linear", partitioner=optimizer.partitioner
    ) as scope:
        features = features.copy()
        features.update(layers.transform_features(features, columns))
        logits, variables, bias = layers.weighted_sum_from_feature_columns(
            columns_to_tensors=features, feature_columns=columns, num_outputs=1, scope=scope
        )
        _add_bias_column(columns, features, bias, variables)

    def train_op_fn(loss: Any) -> Operation:
        model, train_op = optimizer.get_train_step(
            variables, params["weight_column_name"], loss_type, features, labels,
            get_global_step(),
        )  # fmt: skip
        if hook is not None:
            hook.set_parameters(model, train_op)
        return train_op

    ops = head.create_model_fn_ops(
        features=features, labels=labels, mode=mode, train_op_fn=train_op_fn, logits=logits
    )
    if hook is None:
        return ops
    return ops._replace(training_chief_hooks=[*ops.training_chief_hooks, hook])


def sdca_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
    """Return the model function of estimators that are given an `SDCAOptimizer`.

    Raises:
      ValueError: for other optimizers, or heads of other losses.
    """
    head, optimizer = params["head"], params["optimizer"]
    if not isinstance(optimizer, SDCAOptimizer):
        raise ValueError("Optimizer must be of type SDCAOptimizer")
    loss_type = loss_of(head)
    if loss_type is None:
        raise ValueError(f"Unsupported head type: {head}")
    if loss_type == "squared_loss":
        assert head.logits_dimension == 1, "SDCA only applies for logits_dimension=1."
    return build(features, labels, mode, params, optimizer, loss_type)
