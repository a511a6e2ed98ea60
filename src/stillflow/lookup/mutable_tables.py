"""Tables that a program changes, and that checkpoints hold."""

from __future__ import annotations

import functools
from typing import Any

from stillflow.graph.api import add_to_collection, colocate_with, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.lookup.interface import LookupInterface, signature_mismatch
from stillflow.ops.lookup.creation import (
    mutable_dense_hash_table_v2_op,
    mutable_hash_table_of_tensors_v2_op,
    mutable_hash_table_v2_op,
)
from stillflow.ops.lookup.operations import (
    lookup_table_export_v2_op,
    lookup_table_find_v2_op,
    lookup_table_import_v2_op,
    lookup_table_insert_v2_op,
    lookup_table_remove_v2_op,
    lookup_table_size_v2_op,
)
from stillflow.train.saveables import SaveableObject, SaveSpec


class TableSaveable(SaveableObject):
    """A table, as its keys and its values."""

    def __init__(self, table: Any, name: str) -> None:
        keys, values = table._entries()
        specs = [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: Any, restored_shapes: Any, name: Any = None) -> Operation:
        """Replace the table's content by the read one."""
        with (
            name_scope(name, f"{self.name}_table_restore"),
            colocate_with(self.op.resource_handle),
        ):
            keys, values = restored_tensors
            return lookup_table_import_v2_op(self.op.resource_handle, keys, values)


class ChangingTable(LookupInterface):
    """Base of both kinds of mutable tables.

    Args:
      key_dtype, value_dtype: types.
      default_value: a tensor, the value of keys that are not there.
      name: of the table, also in checkpoints.
      checkpoint: whether checkpoints hold it.
    """

    _saveable = TableSaveable

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str, checkpoint: bool
    ) -> None:
        self._default_value, self._value_shape = default_value, default_value.get_shape()
        self._checkpoint, self._name = checkpoint, name
        self._table_name: str | None = ""
        super().__init__(key_dtype, value_dtype)
        self._resource_handle = self._create_resource()
        if self._resource_handle.holds_value:
            self._table_name = None
            return
        self._table_name = self._resource_handle.op.name.split("/")[-1]
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable(self, name))

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"table": functools.partial(_saveable, self, self._name)}

    def _op_name(self, scope: str) -> str | None:
        """Return the name of an operation in its own scope; None for its type."""
        return None

    @property
    def name(self) -> Any:
        """The name of the operation that made it."""
        return self._table_name

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements, an int64 scalar tensor."""
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_Size", [handle]) as scope, colocate_with(handle):
            return lookup_table_size_v2_op(handle, name=self._op_name(scope))

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Return an operation that forgets keys; those that are not there do no harm.

        Raises:
          TypeError: for keys of another type.
        """
        if keys.dtype != self._key_dtype:
            raise signature_mismatch(self._key_dtype, keys.dtype)
        used = (self.resource_handle, keys, self._default_value)
        with name_scope(name, f"{self.name}_lookup_table_remove", used):
            return lookup_table_remove_v2_op(self.resource_handle, keys)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Return the values of keys; that of keys that are not there is the default.

        Raises:
          TypeError: for keys of another type.
        """
        handle = self.resource_handle
        with name_scope(name, f"{self.name}_lookup_table_find", [handle, keys]) as scope:
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with colocate_with(handle):
                return lookup_table_find_v2_op(
                    handle, keys, self._default_value, name=self._op_name(scope)
                )

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the values of keys.

        Raises:
          TypeError: for keys or values of another type.
        """
        handle = self.resource_handle
        used = [handle, keys, values]
        with name_scope(name, f"{self.name}_lookup_table_insert", used) as scope:
            keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            values = convert_to_tensor(values, dtype=self._value_dtype, name="values")
            with colocate_with(handle):
                return lookup_table_insert_v2_op(handle, keys, values, name=self._op_name(scope))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and values."""
        return self._entries(name)

    def _entries(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        handle = self.resource_handle
        with (
            name_scope(name, f"{self.name}_lookup_table_export_values", [handle]) as scope,
            colocate_with(handle),
        ):
            keys, values = lookup_table_export_v2_op(
                handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype,
                name=self._op_name(scope),
            )  # fmt: skip
            return keys, values


def _saveable(table: Any, own_name: str, name: str | None = None) -> TableSaveable:
    return table._saveable(table, own_name if name is None else name)


@export("contrib.lookup.MutableHashTable")
class MutableHashTable(ChangingTable):
    """A table that a program changes.

    Args:
      key_dtype, value_dtype: types.
      default_value: the value of keys that are not there: a scalar, or a vector for vectors.
      name: of the table, also in checkpoints.
      checkpoint: whether checkpoints hold it.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any,
        name: str = "MutableHashTable", checkpoint: bool = True,
    ) -> None:  # fmt: skip
        default = convert_to_tensor(default_value, dtype=value_dtype)
        super().__init__(key_dtype, value_dtype, default, name, checkpoint)

    def _create_resource(self) -> Tensor:
        options = {
            "use_node_name_sharing": self._checkpoint, "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype, "name": self._name,
        }  # fmt: skip
        if self._value_shape.ndims == 0:
            return mutable_hash_table_v2_op(**options)  # type: ignore[arg-type]
        return mutable_hash_table_of_tensors_v2_op(value_shape=self._value_shape, **options)  # type: ignore[arg-type]


@export("lookup.experimental.DenseHashTable", "contrib.lookup.MutableDenseHashTable")
class DenseHashTable(ChangingTable):
    """A table that a program changes, laid out for speed.

    Args:
      key_dtype, value_dtype: types.
      default_value: the value of keys that are not there.
      empty_key, deleted_key: two keys that the table itself needs.
      initial_num_buckets: room at first, a power of 2.
      name: of the table, also in checkpoints.
      checkpoint: whether checkpoints hold it.
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any,
        deleted_key: Any, initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable", checkpoint: bool = True,
    ) -> None:  # fmt: skip
        default = convert_to_tensor(default_value, dtype=value_dtype, name="default_value")
        self._initial_num_buckets = initial_num_buckets
        self._empty_key = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        self._deleted_key = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        super().__init__(key_dtype, value_dtype, default, name, checkpoint)

    def _create_resource(self) -> Tensor:
        return mutable_dense_hash_table_v2_op(
            self._empty_key, self._deleted_key, use_node_name_sharing=self._checkpoint,
            value_dtype=self._value_dtype, value_shape=self._value_shape,
            initial_num_buckets=self._initial_num_buckets, name=self._name,
        )  # fmt: skip

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """`insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """`remove`."""
        return self.remove(keys, name)
