"""Tables whose values are tensors of any shape, and tables of nested states."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Operation, Tensor
from stillflow.lookup.interface import LookupInterface
from stillflow.lookup.mutable_tables import DenseHashTable


class TensorValuedMutableDenseHashTable(DenseHashTable):
    """A table of tensors.

    Args:
      key_dtype, value_dtype: types of keys and values.
      default_value: of keys that are not there; all values have its shape.
      args, kwargs: as of `tf.contrib.lookup.MutableDenseHashTable`.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, *args: Any, **kwargs: Any
    ) -> None:
        self._tensor_shape = tf.shape(default_value)
        flat = tf.reshape(default_value, [-1])
        kwargs.update(key_dtype=key_dtype, value_dtype=value_dtype, default_value=flat)
        super().__init__(*args, **kwargs)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Put values [..., shape of a value] under keys [...]."""
        keys = tf.convert_to_tensor(keys, dtype=self._key_dtype)
        flat = tf.reshape(keys, [-1])
        rows = tf.reshape(values, [tf.shape(flat)[0], -1])
        return super().insert(keys=flat, values=rows, name=name)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Return the values [..., shape of a value] of keys [...]."""
        flat = tf.reshape(tf.convert_to_tensor(keys, dtype=self._key_dtype), [-1])
        found = super().lookup(keys=flat, name=name)
        return tf.reshape(found, tf.concat([tf.shape(keys), self._tensor_shape], 0))


class TupleOfTensorsLookup(LookupInterface):
    """A table of nested states: one table for each of their tensors.

    Args:
      key_dtype: the type of keys.
      default_values: the state of keys that are not there.
      empty_key, deleted_key: keys that are never used.
      name: the beginning of the names of the tables.
      checkpoint: whether they are in checkpoints.
    """

    def __init__(
        self, key_dtype: Any, default_values: Any, empty_key: Any, deleted_key: Any, name: str,
        checkpoint: bool = True,
    ) -> None:  # fmt: skip
        tables = [
            TensorValuedMutableDenseHashTable(
                key_dtype=key_dtype,
                value_dtype=default.dtype.base_dtype,
                default_value=default,
                empty_key=empty_key,
                deleted_key=deleted_key,
                name=f"{name}_{number}",
                checkpoint=checkpoint,
            )
            for number, default in enumerate(nest.flatten(default_values))
        ]
        self._hash_tables = nest.pack_sequence_as(default_values, tables)
        self._name = name

    def lookup(self, keys: Any, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states of keys [...]: each tensor with [...] in front."""
        found = [table.lookup(keys) for table in nest.flatten(self._hash_tables)]
        return nest.pack_sequence_as(self._hash_tables, found)

    def insert(self, keys: Any, values: Any) -> Operation:
        """Put states under keys [...]; give the operation that does."""
        nest.assert_same_structure(self._hash_tables, values)
        # All are computed before one is put in: they may have been looked up here.
        flat = [tf.identity(value) for value in nest.flatten(values)]
        with tf.control_dependencies(flat):
            tables = nest.flatten(self._hash_tables)
            inserts = [table.insert(keys, value) for table, value in zip(tables, flat, strict=True)]
        return tf.group(*inserts)

    def check_table_dtypes(self, key_dtype: Any, value_dtype: Any) -> None:
        """Nothing to check: the types of keys and values are those of the tables."""
