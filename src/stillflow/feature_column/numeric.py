"""Columns of numbers as they are, and of the intervals that they fall in."""

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair
from stillflow.feature_column.checks import check_default, check_key, check_numeric, check_shape
from stillflow.feature_column.columns import Categorical, Dense
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.math.counting import bucketize_op


class NumericColumn(
    Dense,
    namedtuple("NumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")),
):
    """A dense column of numbers."""

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed shape."""
        return {self.key: tf.io.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the numbers as float32, after the normalizer."""
        tensor = transformation_cache.get(self.key, state_manager)
        if isinstance(tensor, tf.SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            tensor = self.normalizer_fn(tensor)
        return tf.cast(tensor, tf.float32)

    @property
    def variable_shape(self) -> TensorShape:
        """The feature's shape."""
        return tf.TensorShape(self.shape)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the transformed numbers."""
        return transformation_cache.get(self, state_manager)


class BucketizedColumn(
    Dense, Categorical, namedtuple("BucketizedColumn", ("source_column", "boundaries"))
):
    """A column of the intervals of numbers: one-hot vectors, or ids."""

    @property
    def name(self) -> str:
        """The source's name with an ending."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parents(self) -> list[Any]:
        """The source."""
        return [self.source_column]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The spec of the source."""
        return self.source_column.parse_example_spec

    @property
    def _depth(self) -> int:
        return len(self.boundaries) + 1

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the number of each number's interval."""
        source = transformation_cache.get(self.source_column, state_manager)
        return bucketize_op(source, boundaries=self.boundaries)

    @property
    def variable_shape(self) -> TensorShape:
        """The source's shape with an axis of intervals."""
        return tf.TensorShape((*self.source_column.shape, self._depth))

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """One-hot vectors."""
        numbers = transformation_cache.get(self, state_manager)
        indices = tf.cast(numbers, tf.int64)
        return tf.one_hot(indices, depth=self._depth, on_value=1.0, off_value=0.0)

    @property
    def num_buckets(self) -> int:
        """The number of intervals, times that of numbers of one example."""
        return self._depth * self.source_column.shape[0]

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return an id for each interval of each number of an example."""
        numbers = transformation_cache.get(self, state_manager)
        batch, width = tf.shape(numbers)[0], self.source_column.shape[0]
        rows = tf.tile(tf.expand_dims(tf.range(0, batch), 1), [1, width])
        rows = tf.reshape(rows, (-1,))
        places = tf.tile(tf.range(0, width), [batch])
        ids = tf.reshape(numbers, (-1,)) + self._depth * places
        indices = tf.cast(tf.transpose(tf.stack((rows, places))), tf.int64)
        dense_shape = tf.cast(tf.stack([batch, width]), tf.int64)
        return IdWeightPair(tf.SparseTensor(indices, ids, dense_shape), None)


@export("feature_column.numeric_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Any = None,
) -> NumericColumn:
    """Return a column of numbers.

    Args:
      key: the feature's key, which is the column's name.
      shape: the shape of one example.
      default_value: for examples without the feature; a number, or nested numbers of `shape`.
      dtype: the type of numbers in examples.
      normalizer_fn: `f(tensor)` gives the tensor to use.

    Raises:
      TypeError: for a default, a dimension or a normalizer of another type.
      ValueError: for another shape or type.
    """
    shape = check_shape(shape, key)
    check_numeric(dtype, key, None)
    default_value = check_default(shape, default_value, dtype, key)
    check_numeric(dtype, key, normalizer_fn)
    check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


@export("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """Return a column of the intervals that numbers fall in.

    Args:
      source_column: a numeric column of one axis.
      boundaries: ascending numbers; those from one up to the next are an interval.

    Raises:
      ValueError: for another column, or other boundaries.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(
        low >= high for low, high in pairwise(boundaries)
    ):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
