"""Tables between words and their ids."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.lookup.hash_buckets import FastHashSpec, IdTableWithHashBuckets
from stillflow.lookup.interface import LookupInterface
from stillflow.lookup.static_tables import StaticHashTable
from stillflow.lookup.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from stillflow.ops.arrays.sequences import range as tf_range
from stillflow.ops.arrays.shape import size
from stillflow.ops.math.cast import cast


def _check_file(vocabulary_file: Any) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")


def _check_buckets(count: int) -> None:
    if count < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {count}.")


def _check_key_type(dtype: Any) -> None:
    if not dtype.is_integer and dtype.base_dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")


def _check_size(vocab_size: int | None, file: Any = None) -> None:
    if vocab_size is None or vocab_size >= 1:
        return
    if isinstance(file, Tensor):
        file = static_value(file) or "?"
    more = "" if file is None else f" vocabulary_file: {file}"
    raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.{more}")


def _table_of_file(
    kind: Any, file: Any, default_value: Any, vocab_size: int | None, key_column_index: int,
    value_column_index: int, delimiter: str, **types: Any,
) -> StaticHashTable:  # fmt: skip
    """Return a table of a file's columns, which an initializer of that kind fills."""
    initializer = kind(
        file, key_column_index=key_column_index, value_column_index=value_column_index,
        vocab_size=vocab_size, delimiter=delimiter, name="table_init", **types,
    )  # fmt: skip
    return StaticHashTable(initializer, default_value)


def _with_buckets(table: Any, num_oov_buckets: int, hasher_spec: Any, key_dtype: Any) -> Any:
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(
        table, num_oov_buckets=num_oov_buckets, hasher_spec=hasher_spec, key_dtype=key_dtype
    )


@export("contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> LookupInterface:
    """Return a table of ids by words, from a file with a word on each line.

    Args:
      vocabulary_file: its name, a string or a string tensor.
      num_oov_buckets: how many ids there are for other words.
      vocab_size: the number of words, if it is known.
      default_value: the id of other words where there are no buckets.
      hasher_spec: how other words are hashed.
      key_dtype: the type of words: strings or integers.
      name: a name scope.
      key_column_index, value_column_index: which column of a line, or one of `TextFileIndex`.
      delimiter: the delimiter of columns.

    Raises:
      ValueError: for a missing name or another number.
      TypeError: for another type.
    """
    _check_file(vocabulary_file)
    _check_buckets(num_oov_buckets)
    _check_size(vocab_size, vocabulary_file)
    _check_key_type(key_dtype)
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            table = _table_of_file(
                TextFileIdTableInitializer, vocabulary_file, default_value, vocab_size,
                key_column_index, value_column_index, delimiter,
                key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
            )  # fmt: skip
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> LookupInterface:
    """Return a table of ids by words, from a vector of words.

    Args:
      vocabulary_list: [n], the words.
      dtype: their type: strings or integers.
      num_oov_buckets, default_value, hasher_spec, name: as of `index_table_from_file`.

    Raises:
      ValueError: for missing words, another number, or words of another type.
      TypeError: for another type.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets)
    _check_key_type(dtype)
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        values = cast(tf_range(size(keys)), dtypes.int64)
        with name_scope(None, "hash_table"):
            keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            initializer = KeyValueTensorInitializer(
                keys, values, keys.dtype.base_dtype, dtypes.int64, name="table_init"
            )
            table = StaticHashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


@export("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Return a table of words by ids, from a file with a word on each line.

    Args:
      default_value: the word for other ids.
      vocabulary_file, vocab_size, ...: as of `index_table_from_file`.

    Raises:
      ValueError: for a missing name or another number.
    """
    _check_file(vocabulary_file)
    _check_size(vocab_size)
    with name_scope(name, "index_to_string"):
        return _table_of_file(
            TextFileStringTableInitializer, vocabulary_file, default_value, vocab_size,
            key_column_index, value_column_index, delimiter,
        )  # fmt: skip


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table of words by ids, from a vector of words.

    Args:
      vocabulary_list: [n], strings.
      default_value: the word for other ids.
      name: a name scope.

    Raises:
      ValueError: for missing words.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(vocabulary_list, dtypes.string)
        ids = cast(tf_range(size(words)), dtypes.int64)
        initializer = KeyValueTensorInitializer(
            ids, words, dtypes.int64, dtypes.string, name="table_init"
        )
        return StaticHashTable(initializer, default_value)
