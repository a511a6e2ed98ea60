"""A table of the state of examples, in several parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Operation, Tensor
from stillflow.lookup.mutable_tables import DenseHashTable, TableSaveable
from stillflow.ops.lookup.operations import lookup_table_import_v2_op


class _Saveable(TableSaveable):
    """Saveable of a table, restored without a name scope."""

    def restore(self, restored_tensors: Any, restored_shapes: Any, name: Any = None) -> Any:
        """Replace the table's content by the read one."""
        handle = self.op.resource_handle
        with tf.colocate_with(handle):
            return lookup_table_import_v2_op(handle, *restored_tensors)


class StateTable(DenseHashTable):
    """`DenseHashTable` whose operations have the names of estimators' tables."""

    _saveable = _Saveable

    def _op_name(self, scope: str) -> str | None:
        return scope


class ShardedTable:
    """A table that a program changes, whose keys are spread over some tables.

    Args:
      key_dtype, value_dtype: types.
      default_value: the value of keys that are not there.
      empty_key, deleted_key: two keys that the tables need.
      num_shards: of how many tables it consists.
      checkpoint: whether checkpoints hold it.
      name: the beginning of the names of the tables.
    """

    _shard: Callable[..., DenseHashTable] = StateTable

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any,
        deleted_key: Any, num_shards: int = 1, checkpoint: bool = True,
        name: str = "ShardedMutableHashTable",
    ) -> None:  # fmt: skip
        self._key_dtype, self._value_dtype = key_dtype, value_dtype
        with tf.name_scope(name, "sharded_mutable_hash_table") as scope:
            self._table_name = scope
            self._table_shards = [
                self._shard(
                    key_dtype=key_dtype, value_dtype=value_dtype, default_value=default_value,
                    empty_key=empty_key, deleted_key=deleted_key, checkpoint=checkpoint,
                    name=f"{name}-{number + 1}-of-{num_shards}",
                )
                for number in range(num_shards)
            ]  # fmt: skip
        self._value_shape = self._table_shards[0]._value_shape

    @property
    def name(self) -> str:
        """The scope that its tables were made in."""
        return self._table_name

    @property
    def _num_shards(self) -> int:
        return len(self._table_shards)

    @property
    def table_shards(self) -> list[Any]:
        """Its tables."""
        return self._table_shards

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys, an int64 scalar tensor."""
        with tf.name_scope(name, "sharded_mutable_hash_table_size"):
            return tf.add_n([each.size() for each in self._table_shards])

    def _first_words(self, keys: Any) -> Tensor:
        return tf.reshape(tf.slice(keys, [0, 0], [-1, 1]), [-1])

    def _shard_indices(self, keys: Any) -> Tensor:
        """Return the table of each key."""
        if keys.get_shape().ndims > 1:
            keys = self._first_words(keys)
        return tf.cast(tf.mod(tf.abs(keys), self._num_shards), tf.int32)

    def _check_keys(self, keys: Any) -> None:
        if keys.get_shape().ndims not in (1, 2):
            raise ValueError(f"Expected a vector or matrix for keys, got {keys.get_shape()}.")

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Return the values of keys; that of keys that are not there is the default.

        Args:
          keys: [n] or [n, width].
          name: of the operations.

        Raises:
          TypeError: for keys of another type.
          ValueError: for keys of another shape.
        """
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )
        self._check_keys(keys)
        if self._num_shards == 1:
            return self._table_shards[0].lookup(keys, name=name)
        indices = self._shard_indices(keys)
        parts = tf.dynamic_partition(keys, indices, self._num_shards)
        values = [table.lookup(part, name=name)
                  for table, part in zip(self._table_shards, parts)]  # fmt: skip
        return self._stitched(keys, indices, values)

    def _stitched(self, keys: Any, indices: Any, values: Any) -> Tensor:
        """Return the values of the tables, in the order of keys."""
        numbers = tf.range(self._number(keys))
        places = tf.dynamic_partition(numbers, indices, self._num_shards)
        return tf.dynamic_stitch(places, values)

    def _number(self, keys: Any) -> Tensor:
        return tf.shape(keys)[0]

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the values of keys.

        Args:
          keys: [n] or [n, width].
          values: [n] or [n, width of values].
          name: of the operations.

        Raises:
          ValueError: for keys of another shape.
        """
        self._check_keys(keys)
        if self._num_shards == 1:
            return self._table_shards[0].insert(keys, values, name=name)
        indices = self._shard_indices(keys)
        keys = tf.dynamic_partition(keys, indices, self._num_shards)
        values = tf.dynamic_partition(values, indices, self._num_shards)
        return tf.group(*[
            table.insert(*pair, name=name)
            for table, pair in zip(self._table_shards, zip(keys, values))
        ])  # fmt: skip

    def export_sharded(self, name: str | None = None) -> tuple[list[Any], list[Any]]:
        """Return the keys of the tables, and their values."""
        keys, values = zip(*[table.export(name=name) for table in self._table_shards])
        return list(keys), list(values)
