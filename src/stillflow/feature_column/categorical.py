"""Columns of ids: of hashes, of words of a vocabulary, and of whole numbers as they are."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair
from stillflow.feature_column.cache import as_sparse
from stillflow.feature_column.checks import check_key, check_same_kind, check_string_or_int
from stillflow.feature_column.columns import Categorical, OfFeature
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.lookup.interface import LookupInterface
from stillflow.lookup.vocabularies import index_table_from_file, index_table_from_tensor
from stillflow.platform import tf_logging as logging


class _OfFeature(OfFeature, Categorical):
    """Categorical column of one feature; subclasses define its ids."""

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """Return the ids as a SparseTensor."""
        tensor = transformation_cache.get(self.key, state_manager)
        return self._transform_input_tensor(as_sparse(tensor), state_manager)

    def _transform_input_tensor(self, input_tensor: Any, state_manager: Any = None) -> Any:
        raise NotImplementedError

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids, without weights."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


class HashedCategoricalColumn(
    _OfFeature, namedtuple("HashedCategoricalColumn", ("key", "hash_bucket_size", "dtype"))
):
    """Ids are hashes of strings, or of numbers as text."""

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    def _transform_input_tensor(self, input_tensor: Any, state_manager: Any = None) -> SparseTensor:
        if not isinstance(input_tensor, tf.SparseTensor):
            raise ValueError("SparseColumn input must be a SparseTensor.")
        given = input_tensor.dtype
        check_string_or_int(given, f"column_name: {self.key} input_tensor")
        check_same_kind(self.key, self.dtype, given)
        values = input_tensor.values
        if self.dtype != tf.string:
            values = tf.as_string(values)
        ids = tf.strings.to_hash_bucket_fast(values, self.hash_bucket_size, name="lookup")
        return tf.SparseTensor(input_tensor.indices, ids, input_tensor.dense_shape)


class _OfVocabulary(_OfFeature):
    """A column whose ids are places in a vocabulary; subclasses say where that is."""

    def _table(self, key_dtype: Any, name: str) -> Any:
        raise NotImplementedError

    def _transform_input_tensor(self, input_tensor: Any, state_manager: Any = None) -> SparseTensor:
        given, key_dtype = input_tensor.dtype, self.dtype
        check_same_kind(self.key, self.dtype, given)
        check_string_or_int(given, f"column_name: {self.key} input_tensor")
        if given.is_integer:
            key_dtype = tf.int64
            input_tensor = tf.cast(input_tensor, tf.int64)
        name = f"{self.key}_lookup"
        table = self._table(key_dtype, name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table.lookup(input_tensor)


class VocabularyFileCategoricalColumn(
    _OfVocabulary,
    namedtuple(
        "VocabularyFileCategoricalColumn",
        ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"),
    ),
):
    """Ids are numbers of lines of a file."""

    @property
    def num_buckets(self) -> int:
        """The number of words and of buckets for others."""
        return self.vocabulary_size + self.num_oov_buckets

    def _table(self, key_dtype: Any, name: str) -> LookupInterface:
        return index_table_from_file(
            self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=name,
        )


class VocabularyListCategoricalColumn(
    _OfVocabulary,
    namedtuple(
        "VocabularyListCategoricalColumn",
        ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    ),
):
    """Ids are places in a list."""

    @property
    def num_buckets(self) -> int:
        """The number of words and of buckets for others."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _table(self, key_dtype: Any, name: str) -> LookupInterface:
        return index_table_from_tensor(
            tuple(self.vocabulary_list),
            num_oov_buckets=self.num_oov_buckets,
            default_value=self.default_value,
            dtype=key_dtype,
            name=name,
        )


class IdentityCategoricalColumn(
    _OfFeature,
    namedtuple("IdentityCategoricalColumn", ("key", "number_buckets", "default_value")),
):
    """Ids are the feature's own values."""

    dtype = dtypes.int64

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def _transform_input_tensor(self, input_tensor: Any, state_manager: Any = None) -> SparseTensor:
        given = input_tensor.dtype
        if not given.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {given}")
        values = tf.cast(input_tensor.values, tf.int64, name="values")
        limit = tf.cast(self.num_buckets, tf.int64, name="num_buckets")
        zero = tf.cast(0, tf.int64, name="zero")
        if self.default_value is None:
            values = self._checked(values, limit, zero)
        else:
            outside = tf.logical_or(values < zero, values >= limit, name="out_of_range")
            shape, default = tf.shape(values), tf.cast(self.default_value, tf.int64)
            default = tf.fill(shape, default, name="default_values")
            values = tf.where_v2(outside, default, values)
        return tf.SparseTensor(input_tensor.indices, values, input_tensor.dense_shape)

    def _checked(self, values: Any, limit: Any, zero: Any) -> Tensor:
        """Return the values; at run time an error is raised if one is no id."""
        of_column = f'for categorical column "{self.name}"'
        checks = [
            tf.assert_less(
                values, limit, (values, limit), name="assert_less_than_num_buckets",
                message=f"Bucket index {of_column} exceeds number of buckets",
            ),
            tf.assert_greater_equal(
                values, zero, (values,), name="assert_greater_or_equal_0",
                message=f"Negative bucket index {of_column}",
            ),
        ]  # fmt: skip
        with tf.control_dependencies(checks):
            return tf.identity(values)


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """Return a column whose ids are hashes of the values.

    Args:
      key: the feature's key, which is the column's name.
      hash_bucket_size: the number of ids.
      dtype: the type of values in examples, strings or integers.

    Raises:
      ValueError: for another size or type.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_key(key)
    check_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def _check_buckets(key: str, num_oov_buckets: int | None, has_default: bool) -> None:
    if not num_oov_buckets:
        return
    if has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> VocabularyFileCategoricalColumn:
    """Return a column whose ids are the numbers of lines of a file.

    Args:
      key: the feature's key, which is the column's name.
      vocabulary_file: the file's name.
      vocabulary_size: how many of its lines are used; all by default.
      num_oov_buckets: how many ids there are for other values, by their hashes.
      default_value: the id of other values without buckets, by default -1.
      dtype: the type of values in examples, strings or integers.

    Raises:
      ValueError: if the file is missing, or for other sizes or types.
    """
    return categorical_column_with_vocabulary_file_v2(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )


@export("compat.v2.feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file_v2(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: Any = dtypes.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:
    """See `tf.feature_column.categorical_column_with_vocabulary_file`."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        vocabulary_size = _count_lines(key, vocabulary_file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(key, num_oov_buckets, default_value is not None)
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype,
        -1 if default_value is None else default_value,
    )  # fmt: skip


def _count_lines(key: str, file: str) -> int:
    if not tf.gfile.Exists(file):
        raise ValueError(f"vocabulary_file in {key} does not exist.")
    with tf.gfile.GFile(file) as lines:
        count = sum(1 for _ in lines)
    logging.info(
        "vocabulary_size = %d in %s is inferred from the number of elements in the "
        "vocabulary_file %s.", count, key, file,
    )  # fmt: skip
    return count


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return a column whose ids are places in a list.

    Args:
      key: the feature's key, which is the column's name.
      vocabulary_list: the values that have ids, strings or integers.
      dtype: the type of values in examples; that of the list by default.
      default_value: the id of other values without buckets.
      num_oov_buckets: how many ids there are for other values, by their hashes.

    Raises:
      ValueError: if the list is empty or has a value twice, or for other sizes or types.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_buckets(key, num_oov_buckets, default_value != -1)
    check_string_or_int(own, f"column_name: {key} vocabulary")
    if dtype is None:
        dtype = own
    elif dtype.is_integer != own.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {own} do not match, column_name: {key}"
        )
    check_string_or_int(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets
    )


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return a column whose ids are the values themselves.

    Args:
      key: the feature's key, which is the column's name.
      num_buckets: the number of ids.
      default_value: the id of values outside of [0, num_buckets); None raises an error for them.

    Raises:
      ValueError: for another number or default.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)
