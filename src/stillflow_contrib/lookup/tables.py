"""Tables between words and ids, and tables that sessions do not share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.lookup import vocabularies
from stillflow.lookup.hash_buckets import FastHashSpec
from stillflow.lookup.static_tables import Hashed, InitializableLookupTableBaseV1

if TYPE_CHECKING:
    from stillflow.lookup.interface import LookupInterface
    from stillflow.lookup.static_tables import StaticHashTable


@export("contrib.lookup.string_to_index_table_from_file")
def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> LookupInterface:
    """See `index_table_from_file`."""
    return vocabularies.index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec,
        key_dtype=tf.string, name=name,
    )  # fmt: skip


@export("contrib.lookup.string_to_index_table_from_tensor")
def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    name: str | None = None,
) -> Any:
    """See `index_table_from_tensor`.

    Raises:
      ValueError: for words that are no strings.
    """
    with tf.name_scope(name, "string_to_index") as scope:
        mapping = tf.convert_to_tensor(mapping)
    if mapping.dtype.base_dtype != tf.string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)


@export("contrib.lookup.index_table_from_tensor")
def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = tf.string,
    name: str | None = None,
) -> Any:
    """Return a table of ids by words.

    Args:
      mapping: [n], the words.
      num_oov_buckets: how many ids there are for other words.
      default_value: the id of other words where there are no buckets.
      hasher_spec: how other words are hashed.
      dtype: the type of words: strings or integers.
      name: a name scope.

    Raises:
      ValueError: for missing words or words of another type.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


@export("contrib.lookup.string_to_index")
def string_to_index(
    tensor: Any, mapping: Any, default_value: Any = -1, name: str | None = None
) -> Any:
    """Return the ids of words; arguments are those of `index_table_from_tensor`."""
    table = index_table_from_tensor(mapping=mapping, default_value=default_value, name=name)
    return table.lookup(tensor)


@export("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table of words by ids.

    Args:
      mapping: [n], the words.
      default_value: the word for other ids.
      name: a name scope.

    Raises:
      ValueError: for missing words.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_to_string_table_from_tensor(mapping, default_value, name)


@export("contrib.lookup.index_to_string")
def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Tensor | SparseTensor:
    """Return the words of ids; arguments are those of `index_to_string_table_from_tensor`."""
    table = index_to_string_table_from_tensor(
        mapping=mapping, default_value=default_value, name=name
    )
    return table.lookup(tensor)


@export("contrib.lookup.HashTable")
class HashTable(Hashed, InitializableLookupTableBaseV1):
    """A table that is filled once.

    Args:
      initializer: fills it.
      default_value: the value of keys that are not there.
      shared_name: by which sessions of a server share it.
      name: of the table.
    """

    _export_scoped = True

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: str | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initializer, default_value, shared_name, name)

    @property
    def init(self) -> Operation:
        """The operation that fills the table."""
        return self.initializer
