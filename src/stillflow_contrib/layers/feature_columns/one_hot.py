"""Dense columns that count ids."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.contrib.layers.core import inner_flatten
from stillflow.feature_column.base import _DenseColumn
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.layers.feature_columns.base import _FeatureColumn, config_of


class _OneHotColumn(_FeatureColumn, _DenseColumn, namedtuple("_OneHotColumn", "sparse_id_column")):
    """Number of occurrences of each id, or the sum of its weights."""

    @property
    def name(self) -> str:
        """The column's with an ending."""
        return f"{self.sparse_id_column.name}_one_hot"

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        """The features that the column parses."""
        return config_of(self.sparse_id_column)

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Add the column's transformed ids as this one's."""
        if self.sparse_id_column not in columns_to_tensors:
            self.sparse_id_column.insert_transformed_feature(columns_to_tensors)
        columns_to_tensors[self] = columns_to_tensors[self.sparse_id_column]

    def _transform_feature(self, inputs: Any) -> Tensor:
        return self._to_dnn_input_layer(inputs.get(self.sparse_id_column))

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = False,
        output_rank: int = 2,
    ) -> Tensor:
        ids = inner_flatten(self.sparse_id_column.id_tensor(input_tensor), output_rank)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        if weights is not None:
            return self._weighted(ids, weights)
        dense = tf.sparse_tensor_to_dense(ids, default_value=-1)
        one_hot = tf.one_hot(dense, depth=self.length, on_value=1.0, off_value=0.0)
        return tf.reduce_sum(one_hot, axis=[output_rank - 1])

    def _weighted(self, ids: Any, weights: Any) -> Tensor:
        merged = tf.sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=self.length)
        # Ids of -1 stand left of the first column: they are cut off.
        zeros = tf.zeros_like(merged.dense_shape)
        merged = tf.sparse_slice(merged, zeros, merged.dense_shape)
        dense = tf.sparse_tensor_to_dense(merged)
        return tf.reshape(dense, tf.concat([tf.shape(dense)[:-1], [self.length]], axis=0))

    @property
    def _variable_shape(self) -> TensorShape:
        return tf.TensorShape([self.length])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)


@export("contrib.layers.one_hot_column")
def one_hot_column(sparse_id_column: Any) -> _OneHotColumn:
    """Return a dense column with a number for each id: how often it occurs in an example.

    Args:
      sparse_id_column: the ids, of `sparse_column_with_*` or `weighted_sparse_column`.
    """
    return _OneHotColumn(sparse_id_column)
