"""Columns of the ranges that numbers lie in."""

from __future__ import annotations

import itertools
from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair, _CategoricalColumn, _DenseColumn
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.math.counting import bucketize
from stillflow_contrib.layers.feature_columns.base import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
)
from stillflow_contrib.layers.feature_columns.real_valued import _RealValuedColumn


class _BucketizedColumn(
    _FeatureColumn,
    _CategoricalColumn,
    _DenseColumn,
    namedtuple("_BucketizedColumn", ("source_column", "boundaries")),
):
    """The numbers of the ranges that a column's numbers lie in."""

    def __new__(cls, source_column: Any, boundaries: Any) -> Any:
        """Check the arguments, and leave out repeated bounds."""
        if not isinstance(source_column, _RealValuedColumn):
            raise TypeError(
                "source_column must be an instance of _RealValuedColumn. "
                f"source_column: {source_column}"
            )
        if not isinstance(boundaries, (list, tuple)) or not boundaries:
            raise ValueError(
                f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}"
            )
        if any(low > high for low, high in itertools.pairwise(boundaries)):
            raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
        return super().__new__(cls, source_column, tuple(dict.fromkeys(boundaries)))

    @property
    def name(self) -> str:
        """The column's with an ending."""
        return f"{self.source_column.name}_bucketized"

    @property
    def length(self) -> int:
        """The number of ranges."""
        return len(self.boundaries) + 1

    @property
    def config(self) -> dict[str, Any]:
        """The features that the column parses."""
        return self.source_column.config

    def _transform_feature(self, inputs: Any) -> Tensor:
        return bucketize(
            inputs.get(self.source_column), boundaries=list(self.boundaries), name="bucketize"
        )

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Tensor:
        if output_rank != 2:
            raise ValueError("BucketizedColumn currently only supports output_rank=2")
        numbers = tf.cast(input_tensor, tf.int64)
        return tf.reshape(
            tf.one_hot(numbers, self.length, 1.0, 0.0, name="one_hot"),
            [-1, self._num_buckets],
            name="reshape",
        )

    def to_sparse_tensor(self, input_tensor: Any) -> tf.SparseTensor:
        """Return the ranges of the transformed column as ids, which differ for its numbers."""
        dimension = self.source_column.dimension
        batch = tf.shape(input_tensor, name="shape")[0]
        rows: Any = tf.range(0, batch)
        if dimension == 1:
            columns = tf.zeros([batch], dtype=tf.int32, name="zeros")
        else:
            numbers = tf.expand_dims(rows, 1, name="expand_dims")
            repeated = tf.tile(numbers, [1, dimension], name="tile")
            rows = tf.reshape(repeated, [-1], name="reshape")
            columns = tf.tile(tf.range(0, dimension), [batch], name="tile")
        ids = tf.reshape(input_tensor, [-1], name="reshape")
        if dimension != 1:
            ids = ids + self.length * columns
        places = tf.cast(tf.transpose(tf.stack((rows, columns))), tf.int64)
        return tf.SparseTensor(places, ids, tf.cast(tf.stack([batch, dimension]), tf.int64))

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        ids = self.to_sparse_tensor(input_tensor)
        return _LinearEmbeddingLookupArguments(
            ids, None, self._num_buckets, tf.zeros_initializer(), "sum"
        )

    @property
    def _num_buckets(self) -> int:
        return self.length * self.source_column.dimension

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return IdWeightPair(self.to_sparse_tensor(inputs.get(self)), None)

    @property
    def _variable_shape(self) -> TensorShape:
        return tf.TensorShape([self._num_buckets])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Tensor:
        return self._to_dnn_input_layer(inputs.get(self))


@export("contrib.layers.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> _BucketizedColumn:
    """Return a column of the ranges that a column's numbers lie in.

    Args:
      source_column: a `real_valued_column`.
      boundaries: the ranges' bounds, sorted; each belongs to the range above it.

    Raises:
      TypeError: for another column.
      ValueError: for other boundaries.
    """
    return _BucketizedColumn(source_column, boundaries)
