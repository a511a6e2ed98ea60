"""Linear models of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.contrib.framework.variables import model_variable
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow.variables.partitioned import PartitionedVariable
from stillflow_contrib.layers.embedding_lookups import safe_embedding_lookup_sparse
from stillflow_contrib.layers.feature_columns.input_layers import with_global_variables
from stillflow_contrib.layers.feature_columns.reshaping import transformed_with_rank
from stillflow_contrib.layers.feature_columns.transforming import (
    _Transformer,
    check_feature_columns,
    in_order,
)
from stillflow_contrib.layers.feature_columns.vectors import parts_of, restore

if TYPE_CHECKING:
    from stillflow.variables.ref_variable import RefVariable


class _Weights:
    """Creator of a linear model's variables, for `num_outputs` sums."""

    def __init__(self, num_outputs: int, trainable: bool, collections: Any) -> None:
        self.num_outputs, self.trainable, self.collections = num_outputs, trainable, collections

    def make(self, name: str, rows: Any, initializer: Any = None) -> Any:
        """Return a variable [rows, num_outputs], zero at first if nothing else is said."""
        return model_variable(
            name, shape=[rows, self.num_outputs], dtype=tf.float32,
            initializer=initializer or tf.zeros_initializer(), trainable=self.trainable,
            collections=self.collections,
        )  # fmt: skip

    def add_bias(self, sums: Any) -> tuple[Any, Any]:
        """Return the sums with a bias, and the bias."""
        bias = model_variable(
            "bias_weight", shape=[self.num_outputs], initializer=tf.zeros_initializer(),
            trainable=self.trainable, collections=with_global_variables(self.collections),
        )  # fmt: skip
        if not isinstance(bias, PartitionedVariable):
            logging.info("Created variable %s, with device=%s", bias.name, bias.device)
        return tf.nn.bias_add(sums, bias), bias


def _looked_up(
    column: Any, lookup: Any, tensors: dict[Any, Any], weights: _Weights
) -> tuple[list[RefVariable], Tensor]:
    """Return the variable of a column of ids, and the sums of their weights."""
    with tf.variable_scope(None, default_name=column.name, values=tensors.values()):
        parts = parts_of(weights.make("weights", lookup.vocab_size, lookup.initializer))
        sums = safe_embedding_lookup_sparse(
            parts, lookup.input_tensor, sparse_weights=lookup.weight_tensor,
            combiner=lookup.combiner, name=f"{column.name}_weights",
        )  # fmt: skip
        return parts, sums


def _multiplied(
    column: Any, transformed: Any, tensors: dict[Any, Any], weights: _Weights
) -> tuple[list[Any], Tensor]:
    """Return the variable of a column of numbers, and their weighted sums."""
    with tf.variable_scope(None, default_name=column.name, values=tensors.values()):
        tensor = column._to_dense_tensor(transformed)
        tensor = transformed_with_rank(tensor, column.name, output_rank=2)
        weight = weights.make("weight", tensor.get_shape()[1])
        return [weight], tf.matmul(tensor, weight, name="matmul")


@export("contrib.layers.weighted_sum_from_feature_columns")
def weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """Return a linear model of columns.

    Args:
      columns_to_tensors: tensors or SparseTensors of features, by name.
      feature_columns: columns of ids or numbers, which are sorted by their keys.
      num_outputs: how many weights an id has.
      weight_collections: collections of the variables.
      trainable: whether these are trained.
      scope: the variable scope.

    Returns:
      The sums [batch, num_outputs], the parts of each column's variable, and the bias.

    Raises:
      ValueError: for other columns, or two of the same key.
    """
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with tf.variable_scope(
        scope, default_name="weighted_sum_from_feature_columns", values=tensors.values()
    ):
        outputs, variables = [], {}
        transformer = _Transformer(tensors)
        weights = _Weights(num_outputs, trainable, weight_collections)
        for column in in_order(feature_columns):
            transformed = transformer.transform(column)
            try:
                lookup = column._wide_embedding_lookup_arguments(transformed)
                variable, sums = _looked_up(column, lookup, tensors, weights)
            except NotImplementedError:
                variable, sums = _multiplied(column, transformed, tensors, weights)
            except ValueError as error:
                raise ValueError(
                    f"Error creating weighted sum for column: {column.name}.\n{error}"
                ) from error
            outputs.append(tf.reshape(sums, shape=(-1, num_outputs)))
            variables[column] = variable
            restore(column._checkpoint_path(), variable)
        predictions, bias = weights.add_bias(tf.add_n(outputs))
        return predictions, variables, bias


def _joint(lookups: list[Any], tensors: dict[Any, Any], weights: _Weights) -> tuple[Any, Any]:
    """One variable for all columns of ids, and the sums of their weights."""
    for lookup in lookups:
        assert lookup.weight_tensor is None, (
            "Joint sums for weighted sparse columns are not supported. Please use "
            "weighted_sum_from_feature_columns instead."
        )
        assert lookup.combiner == "sum", (
            "Combiners other than sum are not supported for joint sums. Please use "
            "weighted_sum_from_feature_columns instead."
        )
    assert lookups, "At least one column must be in the model."
    size, shifted = 0, []
    for lookup in lookups:
        ids = lookup.input_tensor
        shifted.append(tf.SparseTensor(ids.indices, ids.values + size, ids.dense_shape))
        size += lookup.vocab_size
    ids = tf.sparse_concat(1, shifted)
    with tf.variable_scope(None, default_name="linear_weights", values=tensors.values()):
        parts = parts_of(weights.make("weights", size))
        return parts, safe_embedding_lookup_sparse(parts, ids, combiner="sum", name="_weights")


@export("contrib.layers.joint_weighted_sum_from_feature_columns")
def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Any, list[Any], Any]:
    """Return a linear model of columns of ids, whose weights are in one variable.

    Args:
      columns_to_tensors: tensors or SparseTensors of features, by name.
      feature_columns: columns of ids, which are sorted by their keys.
      num_outputs: how many weights an id has.
      weight_collections: collections of the variables.
      trainable: whether these are trained.
      scope: the variable scope.

    Returns:
      The sums [batch, num_outputs], the parts of the variable, and the bias.

    Raises:
      NotImplementedError: for columns of numbers.
    """
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with tf.variable_scope(
        scope, default_name="joint_weighted_sum_from_feature_columns", values=tensors.values()
    ):
        transformer = _Transformer(tensors)
        lookups = []
        for column in in_order(feature_columns):
            transformed = transformer.transform(column)
            try:
                lookups.append(column._wide_embedding_lookup_arguments(transformed))
            except NotImplementedError:
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns "
                    "instead, or bucketize these columns."
                ) from None
        weights = _Weights(num_outputs, trainable, weight_collections)
        variable, sums = _joint(lookups, tensors, weights)
        predictions, bias = weights.add_bias(sums)
        return predictions, variable, bias
