"""Columns of sequences: the steps of an example have ids or numbers of their own."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column import categorical
from stillflow.feature_column.base import (
    IdWeightPair,
    TensorSequenceLengthPair,
)
from stillflow.feature_column.checks import check_numeric, check_shape
from stillflow.feature_column.columns import (
    Categorical,
    OfFeature,
    OfIds,
    SequenceDense,
    num_buckets_of,
    sparse_tensors_of,
)
from stillflow.feature_column.lookups import sequence_lengths
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape


class SequenceCategoricalColumn(
    OfIds, Categorical, namedtuple("SequenceCategoricalColumn", ("categorical_column",))
):
    """The ids of another column, whose second axis is that of steps."""

    @property
    def name(self) -> str:
        """The name of the ids' column."""
        return self.categorical_column.name

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return num_buckets_of(self.categorical_column)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the transformed ids."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids [batch, steps, ids of a step], and their weights if there are any."""
        pair = sparse_tensors_of(self.categorical_column, transformation_cache, state_manager)
        shape = tf.shape(pair.id_tensor)
        target = [shape[0], shape[1], tf.reduce_prod(shape[2:])]
        return IdWeightPair(
            *(None if each is None else tf.sparse.reshape(each, target) for each in pair)
        )


class SequenceNumericColumn(
    OfFeature,
    SequenceDense,
    namedtuple(
        "SequenceNumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")
    ),
):
    """A column of numbers for each step."""

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """Return the SparseTensor of numbers, after the normalizer."""
        tensor = transformation_cache.get(self.key, state_manager)
        return tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one step."""
        return tf.TensorShape(self.shape)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the numbers [batch, steps, *shape], and the lengths."""
        sparse = transformation_cache.get(self, state_manager)
        dense = tf.sparse.to_dense(sparse, default_value=self.default_value)
        shape = tf.concat([tf.shape(dense)[:1], [-1], self.variable_shape], axis=0)
        dense = tf.reshape(dense, shape)
        size = self.variable_shape.num_elements()
        assert size is not None
        of_step = size if sparse.shape.ndims == 2 else 1
        return TensorSequenceLengthPair(dense, sequence_lengths(sparse, num_elements=of_step))


@export("feature_column.sequence_numeric_column", "contrib.feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Any = None,
) -> SequenceNumericColumn:
    """Return a column of numbers for each step of sequences.

    Args:
      key: the feature's key, which is the column's name.
      shape: the shape of one step.
      default_value: the padding value.
      dtype: the type of numbers in examples.
      normalizer_fn: `f(sparse_tensor)` gives the SparseTensor to use.

    Raises:
      TypeError: for a dimension or a normalizer of another type.
      ValueError: for another shape or type.
    """
    shape = check_shape(shape, key)
    check_numeric(dtype, key, normalizer_fn)
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


@export(
    "feature_column.sequence_categorical_column_with_identity",
    "contrib.feature_column.sequence_categorical_column_with_identity",
)
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Return a column of sequences of ids.

    See `tf.feature_column.categorical_column_with_identity`.
    """
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_identity(key, num_buckets, default_value)
    )


@export(
    "feature_column.sequence_categorical_column_with_hash_bucket",
    "contrib.feature_column.sequence_categorical_column_with_hash_bucket",
)
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """Return steps of hashes; see `tf.feature_column.categorical_column_with_hash_bucket`."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_file",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_file",
)
def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """Return steps of words; see `tf.feature_column.categorical_column_with_vocabulary_file`."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_list",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_list",
)
def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Return steps of words; see `tf.feature_column.categorical_column_with_vocabulary_list`."""
    return SequenceCategoricalColumn(
        categorical.categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )
