"""Dense inputs of networks, made of columns."""

from __future__ import annotations

import functools
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.contrib.framework.experimental import experimental
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow_contrib.layers.feature_columns.bucketized import _BucketizedColumn
from stillflow_contrib.layers.feature_columns.crossed import _CrossedColumn
from stillflow_contrib.layers.feature_columns.embedding import (
    _EmbeddingColumn,
    _ScatteredEmbeddingColumn,
)
from stillflow_contrib.layers.feature_columns.one_hot import _OneHotColumn
from stillflow_contrib.layers.feature_columns.real_valued import (
    _RealValuedColumn,
    _RealValuedVarLenColumn,
)
from stillflow_contrib.layers.feature_columns.reshaping import transformed_with_rank
from stillflow_contrib.layers.feature_columns.transforming import (
    _Transformer,
    check_feature_columns,
    in_order,
)
from stillflow_contrib.layers.feature_columns.vectors import embed
from stillflow_contrib.layers.feature_columns.weighted import _WeightedSparseColumn

_OF_SEQUENCES = (_OneHotColumn, _EmbeddingColumn, _RealValuedColumn, _RealValuedVarLenColumn)
_NOT_OF_SEQUENCES = (_ScatteredEmbeddingColumn, _BucketizedColumn, _CrossedColumn)


def with_global_variables(weight_collections: Any) -> list[str] | None:
    """Return the collections of a variable, if any are given, and that of all variables."""
    if not weight_collections:
        return weight_collections
    return list(dict.fromkeys([*weight_collections, GraphKeys.GLOBAL_VARIABLES]))


def _input(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any,
    trainable: bool,
    scope: Any,
    output_rank: int,
    default_name: str,
    cols_to_outs: Any = None,
) -> Tensor:
    tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise ValueError("cols_to_outs must be a dict unless None")
    with tf.variable_scope(scope, default_name=default_name, values=tensors.values()):
        outputs = []
        transformer = _Transformer(tensors)
        collections = with_global_variables(weight_collections)
        for column in in_order(feature_columns):
            with tf.variable_scope(None, default_name=column.name, values=tensors.values()):
                transformed = transformer.transform(column)
                if output_rank == 3:
                    reshape = functools.partial(
                        transformed_with_rank, column_name=column.name, output_rank=output_rank
                    )
                    transformed = nest.map_structure(reshape, transformed)
                outputs.append(_dense(column, transformed, collections, trainable, output_rank))
                if cols_to_outs is not None:
                    cols_to_outs[column] = outputs[-1]
        return tf.concat(outputs, output_rank - 1)


def _dense(
    column: Any, transformed: Any, weight_collections: Any, trainable: bool, output_rank: int
) -> Tensor:
    """Return the vectors of a transformed column, or its numbers."""
    try:
        arguments = column._deep_embedding_lookup_arguments(transformed)
        return embed(column, arguments, weight_collections, trainable, output_rank=output_rank)
    except NotImplementedError as no_embedding:
        try:
            return column._to_dnn_input_layer(
                transformed, weight_collections, trainable, output_rank=output_rank
            )
        except ValueError as error:
            raise ValueError(
                f"Error creating input layer for column: {column.name}.\n{error}, {no_embedding}"
            ) from error


@export("contrib.layers.input_from_feature_columns")
def input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Tensor:
    """Return the numbers and vectors of dense columns side by side.

    Args:
      columns_to_tensors: tensors or SparseTensors of features, by name.
      feature_columns: the columns, which are sorted by their keys.
      weight_collections: collections of the variables.
      trainable: whether these are trained.
      scope: the variable scope.
      cols_to_outs: a dict that is given each column's part.

    Returns:
      [batch, width].

    Raises:
      ValueError: for columns without dense values, or two of the same key.
    """
    return _input(
        columns_to_tensors, feature_columns, weight_collections, trainable, scope, 2,
        "input_from_feature_columns", cols_to_outs,
    )  # fmt: skip


@export("contrib.layers.sequence_input_from_feature_columns")
@experimental
def sequence_input_from_feature_columns(
    columns_to_tensors: dict[Any, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Return the numbers and vectors of dense columns side by side, for each step of sequences.

    Args:
      columns_to_tensors: tensors or SparseTensors of features, by name.
      feature_columns: columns of numbers, vectors or one-hot ids.
      weight_collections: collections of the variables.
      trainable: whether these are trained.
      scope: the variable scope.

    Returns:
      [batch, steps, width].

    Raises:
      ValueError: for other columns.
    """
    for column in feature_columns:
        if not isinstance(column, _OF_SEQUENCES):
            raise ValueError(
                f"FeatureColumn type {type(column).__name__} is not currently supported for "
                "sequence data."
            )
    for column in _with_parents(feature_columns):
        if isinstance(column, _NOT_OF_SEQUENCES):
            raise ValueError(
                f"Column {column.name} is of type {type(column).__name__}, which is not currently "
                "supported for sequences."
            )
    return _input(
        columns_to_tensors, feature_columns, weight_collections, trainable, scope, 3,
        "sequence_input_from_feature_columns",
    )  # fmt: skip


def _parents(column: Any) -> tuple[Any, ...]:
    if isinstance(column, (_WeightedSparseColumn, _OneHotColumn, _EmbeddingColumn)):
        return (column.sparse_id_column,)
    if isinstance(column, _BucketizedColumn):
        return (column.source_column,)
    return tuple(column.columns) if isinstance(column, _CrossedColumn) else ()


def _with_parents(feature_columns: Any) -> list[Any]:
    """Columns, and those that they are made of."""
    gathered = list(feature_columns)
    for column in gathered:  # which grows meanwhile
        gathered += [each for each in _parents(column) if each not in gathered]
    return gathered
