"""Columns of ids with weights."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair, _CategoricalColumn
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow_contrib.layers.feature_columns.base import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
    config_of,
)
from stillflow_contrib.layers.sparse_conversion import dense_to_sparse_tensor


class _WeightedSparseColumn(
    _FeatureColumn,
    _CategoricalColumn,
    namedtuple("_WeightedSparseColumn", ("sparse_id_column", "weight_column_name", "dtype")),
):
    """The ids of a column, each with a weight from another feature."""

    @property
    def name(self) -> str:
        """The names of the column and of the weights."""
        return f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}"

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        """The features that the column parses, and the weights."""
        weights = {self.weight_column_name: tf.VarLenFeature(self.dtype)}
        return {**config_of(self.sparse_id_column), **weights}

    @property
    def lookup_config(self) -> Any:
        """The lookup of the column."""
        return self.sparse_id_column.lookup_config

    def id_tensor(self, input_tensor: Any) -> Any:
        """Return the ids of the transformed column."""
        return input_tensor[0]

    def weight_tensor(self, input_tensor: Any) -> Any:
        """Return the weights of the transformed column."""
        return input_tensor[1]

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "WeightedSparseColumn is not supported in DNN. Please use embedding_column or "
            f"one_hot_column. column: {self}"
        )

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        ids, weights = input_tensor
        return _LinearEmbeddingLookupArguments(
            ids, weights, self.length, tf.zeros_initializer(), self.sparse_id_column.combiner
        )

    def _transform_feature(self, inputs: Any) -> tuple[SparseTensor, SparseTensor]:
        ids, weights = inputs.get(self.sparse_id_column), inputs.get(self.weight_column_name)
        if not isinstance(weights, tf.SparseTensor):
            weights = dense_to_sparse_tensor(weights)
        if not self.dtype.is_floating:
            weights = tf.cast(weights, tf.float32)
        return ids, weights

    @property
    def _num_buckets(self) -> int:
        return self.length

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return IdWeightPair(*inputs.get(self))

    def is_compatible(self, other_column: Any) -> bool:
        """Return True if both columns may share embeddings."""
        if isinstance(other_column, _WeightedSparseColumn):
            other_column = other_column.sparse_id_column
        return self.sparse_id_column.is_compatible(other_column)


@export("contrib.layers.weighted_sparse_column")
def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = tf.float32
) -> _WeightedSparseColumn:
    """Return a column of ids that have weights.

    Args:
      sparse_id_column: the ids, of `sparse_column_with_*`.
      weight_column_name: the name of the feature of their weights.
      dtype: of the weights.

    Raises:
      ValueError: if this is no number.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}")
    return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)
