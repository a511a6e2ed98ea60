"""Columns of ids: `sparse_column_with_*`."""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair, _CategoricalColumn
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.platform import tf_logging as logging
from stillflow_contrib.layers.feature_columns.base import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
)
from stillflow_contrib.layers.feature_columns.reshaping import with_rank
from stillflow_contrib.layers.sparse_conversion import dense_to_sparse_tensor


class _SparseIdLookupConfig(
    namedtuple(
        "_SparseIdLookupConfig",
        ("vocabulary_file", "keys", "num_oov_buckets", "vocab_size", "default_value"),
        defaults=(None, None, 0, None, -1),
    )
):
    """Configuration of the lookup of features."""


def _refusal(
    column_name: str, is_integerized: bool, bucket_size: Any, lookup_config: Any, dtype: Any
) -> str | None:
    """Return the error for the arguments of a column of ids."""
    if is_integerized and bucket_size is None:
        return f"bucket_size must be set if is_integerized is True. column_name: {column_name}"
    if is_integerized and not dtype.is_integer:
        return (
            "dtype must be an integer if is_integerized is True. "
            f"dtype: {dtype}, column_name: {column_name}."
        )
    if dtype != tf.string and not dtype.is_integer:
        return f"dtype must be string or integer. dtype: {dtype}, column_name: {column_name}"
    if bucket_size is None and lookup_config is None:
        return f"one of bucket_size or lookup_config must be set. column_name: {column_name}"
    if bucket_size is not None and lookup_config:
        return (
            "one and only one of bucket_size or lookup_config must be set. "
            f"column_name: {column_name}"
        )
    if bucket_size is not None and bucket_size < 1:
        return (
            f"bucket_size must be at least 1. bucket_size: {bucket_size}, "
            f"column_name: {column_name}"
        )
    return None


class _SparseColumn(
    _FeatureColumn,
    _CategoricalColumn,
    namedtuple(
        "_SparseColumn",
        ("column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype"),
    ),
):
    """A feature of ids: hashed, looked up or taken as they are."""

    def __new__(
        cls,
        column_name: str,
        is_integerized: bool = False,
        bucket_size: int | None = None,
        lookup_config: Any = None,
        combiner: str = "sum",
        dtype: Any = tf.string,
    ) -> Any:
        """Check the arguments."""
        fault = _refusal(column_name, is_integerized, bucket_size, lookup_config, dtype)
        if fault is None and lookup_config:
            if not isinstance(lookup_config, _SparseIdLookupConfig):
                raise TypeError(
                    "lookup_config must be an instance of _SparseIdLookupConfig. Given one is in "
                    f"type {type(lookup_config)} for column_name {column_name}"
                )
            if lookup_config.vocabulary_file and lookup_config.vocab_size is None:
                fault = f"vocab_size must be defined. column_name: {column_name}"
        if fault is not None:
            raise ValueError(fault)
        ids = is_integerized, bucket_size, lookup_config
        return super().__new__(cls, column_name, *ids, combiner, dtype)

    @property
    def name(self) -> str:
        """The feature's."""
        return self.column_name

    @property
    def length(self) -> int:
        """The number of ids."""
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    @property
    def config(self) -> dict[str, Any]:
        """Any number of values."""
        return {self.column_name: tf.VarLenFeature(self.dtype)}

    def id_tensor(self, input_tensor: Any) -> SparseTensor:
        """Return the ids of the transformed feature."""
        return input_tensor

    def weight_tensor(self, input_tensor: Any) -> None:
        """Return the weights of the transformed feature: none."""
        return

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "SparseColumn is not supported in DNN. Please use embedding_column or one_hot_column. "
            f"column: {self}"
        )

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        return _LinearEmbeddingLookupArguments(
            input_tensor, None, self.length, tf.zeros_initializer(), self.combiner
        )

    def is_compatible(self, other_column: Any) -> bool:
        """Return True if both columns may share embeddings."""
        if self.lookup_config and other_column.lookup_config:
            return self.lookup_config == other_column.lookup_config
        same_type = self.dtype == other_column.dtype or (
            self.dtype.is_integer and other_column.dtype.is_integer
        )
        compatible = self.length == other_column.length and same_type
        if compatible:
            logging.warn(
                f"Column {self.name} and {other_column.name} may not have the same vocabulary."
            )
        return compatible

    @abc.abstractmethod
    def _do_transform(self, input_tensor: Any) -> Any:
        """Return the ids of a SparseTensor."""

    def _transform_feature(self, inputs: Any) -> SparseTensor:
        return self._do_transform(self._as_sparse(inputs.get(self.name)))

    def _as_sparse(self, tensor: Any) -> SparseTensor:
        """Return a dense tensor without empty strings and -1; 0 may be an id."""
        if isinstance(tensor, tf.SparseTensor):
            return tensor
        ignored = "" if tensor.dtype == tf.string else -1
        return dense_to_sparse_tensor(with_rank(tensor, 2, self.name), ignore_value=ignored)

    @property
    def _num_buckets(self) -> int:
        return self.length

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return IdWeightPair(inputs.get(self), None)


def _with_values(sparse: Any, values: Any) -> tf.SparseTensor:
    return tf.SparseTensor(sparse.indices, values, sparse.dense_shape)


class _SparseColumnIntegerized(_SparseColumn):
    """Features are ids."""

    def _do_transform(self, input_tensor: Any) -> SparseTensor:
        ids = tf.mod(input_tensor.values, self.bucket_size, name="mod")
        return _with_values(input_tensor, ids)


@export("contrib.layers.sparse_column_with_integerized_feature")
def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = tf.int64
) -> _SparseColumnIntegerized:
    """Return a column of whole numbers, which are ids.

    Args:
      column_name: the feature's name.
      bucket_size: the number of ids; larger numbers are taken modulo it.
      combiner: how a linear model combines the weights of an example: "sum", "mean" or "sqrtn".
      dtype: of the numbers.

    Raises:
      ValueError: for another type or size.
    """
    return _SparseColumnIntegerized(
        column_name, is_integerized=True, bucket_size=bucket_size, combiner=combiner, dtype=dtype
    )


class _SparseColumnHashed(_SparseColumn):
    """Ids are hashes of features."""

    hash_keys: list[list[int]] | None

    def __new__(cls, *args: Any, hash_keys: Any = None, **kwargs: Any) -> Any:
        """Check the keys, which are no field."""
        if hash_keys is not None:
            if not isinstance(hash_keys, list) or not hash_keys:
                raise ValueError("hash_keys must be a non-empty list.")
            if not all(_is_pair(each) for each in hash_keys):
                raise ValueError("Each element of hash_keys must be a pair of integers.")
        column = super().__new__(cls, *args, **kwargs)
        column.hash_keys = hash_keys
        return column

    def _do_transform(self, input_tensor: Any) -> SparseTensor:
        values = input_tensor.values
        if self.dtype.is_integer:
            values = tf.as_string(values)
        if not self.hash_keys:
            ids = tf.string_to_hash_bucket_fast(values, self.bucket_size, name="lookup")
            return _with_values(input_tensor, ids)
        hashed = [
            _with_values(
                input_tensor, tf.string_to_hash_bucket_strong(values, self.bucket_size, key)
            )
            for key in self.hash_keys
        ]
        return tf.sparse_concat(axis=1, sp_inputs=hashed, name="lookup")


def _is_pair(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(isinstance(each, int) for each in value)


@export("contrib.layers.sparse_column_with_hash_bucket")
def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = tf.string,
    hash_keys: Any = None,
) -> _SparseColumnHashed:
    """Return a column of hashes of features.

    Args:
      column_name: the feature's name.
      hash_bucket_size: the number of ids.
      combiner: how a linear model combines the weights of an example: "sum", "mean" or "sqrtn".
      dtype: of the features: strings or whole numbers.
      hash_keys: pairs of numbers, for each of which a feature is hashed once.

    Raises:
      ValueError: for another type, size or keys.
    """
    return _SparseColumnHashed(
        column_name, bucket_size=hash_bucket_size, combiner=combiner, dtype=dtype,
        hash_keys=hash_keys,
    )  # fmt: skip


class _SparseColumnKeys(_SparseColumn):
    """Ids are places in a list."""

    def _do_transform(self, input_tensor: Any) -> SparseTensor:
        table = tf.contrib.lookup.index_table_from_tensor(
            mapping=tuple(self.lookup_config.keys),
            default_value=self.lookup_config.default_value,
            dtype=self.dtype,
            name="lookup",
        )
        return table.lookup(input_tensor)


@export("contrib.layers.sparse_column_with_keys")
def sparse_column_with_keys(
    column_name: str,
    keys: Any,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> _SparseColumnKeys:
    """Return a column of places in a list of features.

    Args:
      column_name: the feature's name.
      keys: the features.
      default_value: the id of those that are not in the list.
      combiner: how a linear model combines the weights of an example: "sum", "mean" or "sqrtn".
      dtype: of the features: strings or whole numbers.

    Raises:
      ValueError: for another type.
    """
    keys = tuple(keys)
    lookup = _SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _SparseColumnKeys(column_name, lookup_config=lookup, combiner=combiner, dtype=dtype)


class _SparseColumnVocabulary(_SparseColumn):
    """Ids are lines in a file."""

    def _do_transform(self, input_tensor: Any) -> SparseTensor:
        if self.dtype.is_integer:
            input_tensor = _with_values(input_tensor, tf.as_string(input_tensor.values))
        table = tf.contrib.lookup.index_table_from_file(
            vocabulary_file=self.lookup_config.vocabulary_file,
            num_oov_buckets=self.lookup_config.num_oov_buckets,
            vocab_size=self.lookup_config.vocab_size,
            default_value=self.lookup_config.default_value,
            name=f"{self.name}_lookup",
        )
        return table.lookup(input_tensor)


@export("contrib.layers.sparse_column_with_vocabulary_file")
def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> _SparseColumnVocabulary:
    """Return a column of lines of a file of features.

    Args:
      column_name: the feature's name.
      vocabulary_file: the file, with a feature a line.
      num_oov_buckets: how many ids features have that are not in the file.
      vocab_size: the number of lines.
      default_value: the id of features that are not in the file, where there are no such ids.
      combiner: how a linear model combines the weights of an example: "sum", "mean" or "sqrtn".
      dtype: of the features: strings or whole numbers.

    Raises:
      ValueError: for another type, or without a size.
    """
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    lookup = _SparseIdLookupConfig(
        vocabulary_file, None, num_oov_buckets, vocab_size, default_value
    )
    return _SparseColumnVocabulary(
        column_name, lookup_config=lookup, combiner=combiner, dtype=dtype
    )
