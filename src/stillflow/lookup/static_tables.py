"""Tables that are filled once."""

from __future__ import annotations

import uuid
from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.lookup.interface import LookupInterface, signature_mismatch
from stillflow.lookup.table_initializers import in_control_flow
from stillflow.ops.lookup.creation import hash_table_v2_op
from stillflow.ops.lookup.operations import (
    lookup_table_export_v2_op,
    lookup_table_find_v2_op,
    lookup_table_size_v2_op,
)
from stillflow.train.tracking.base import Trackable


class FilledTable(LookupInterface):
    """A table with an initializer.

    Args:
      default_value: the value of keys that are not there.
      initializer: fills it.
    """

    def __init__(self, default_value: Any, initializer: Any) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.get_shape().merge_with(TensorShape([]))
        self._initializer = initializer
        if isinstance(initializer, Trackable):
            self._track_trackable(initializer, "_initializer")
        with init_scope():
            self._resource_handle = self._create_resource()
        if in_control_flow():
            with init_scope():
                self._init_op = self._initialize()
        else:
            self._init_op = self._initialize()

    def _initialize(self) -> Operation:
        return self._initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return self._default_value

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements, an int64 scalar tensor."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            return lookup_table_size_v2_op(self.resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor | SparseTensor:
        """Return the values of keys.

        Args:
          keys: a tensor or a SparseTensor.
          name: a name scope.

        Raises:
          TypeError: for keys of another type.
        """
        sparse = isinstance(keys, SparseTensor)
        key_tensor = keys.values if sparse else keys
        if keys.dtype.base_dtype != self._key_dtype:
            raise signature_mismatch(self._key_dtype, keys.dtype)
        used = (self.resource_handle, key_tensor, self._default_value)
        with name_scope(name, f"{self.name}_Lookup", used):
            values = lookup_table_find_v2_op(*used)
        values.set_shape(key_tensor.get_shape())
        return SparseTensor(keys.indices, values, keys.dense_shape) if sparse else values


@export("contrib.lookup.InitializableLookupTableBase")
class InitializableLookupTableBaseV1(FilledTable):
    """A table with an initializer; arguments are those of `FilledTable`."""

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._init_op


class Hashed(FilledTable):
    """A table that a HashTable keeps.

    Args:
      initializer: fills it.
      default_value: the value of keys that are not there.
      shared_name: by which sessions share it.
      name: of the table.
    """

    _export_scoped = False

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: Any, name: str | None
    ) -> None:
        self._initializer, self._shared_name = initializer, shared_name
        self._name = name or "hash_table"
        self._table_name: str | None = None
        super().__init__(default_value, initializer)
        self._value_shape = self._default_value.get_shape()

    def _create_resource(self) -> Tensor:
        table = hash_table_v2_op(
            shared_name=self._shared_name, key_dtype=self._initializer.key_dtype,
            value_dtype=self._initializer.value_dtype, name=self._name,
        )  # fmt: skip
        self._table_name = None if table.holds_value else table.op.name.split("/")[-1]
        return table

    @property
    def name(self) -> Any:
        """The name of the operation that made it."""
        return self._table_name

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and values."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]) as scope:
            keys, values = lookup_table_export_v2_op(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype,
                name=scope if self._export_scoped else None,
            )  # fmt: skip
        values.set_shape(keys.get_shape().concatenate(self._value_shape))
        return keys, values


@export("lookup.StaticHashTable")
class StaticHashTable(Hashed, InitializableLookupTableBaseV1):
    """A table that is filled once.

    Args:
      initializer: fills it.
      default_value: the value of keys that are not there.
      name: of the table.
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        shared = initializer._shared_name or f"hash_table_{uuid.uuid4()}"
        super().__init__(initializer, default_value, shared, name)


class HashTable(StaticHashTable):
    """`StaticHashTable` with the operation that fills it under an older name."""

    @property
    def init(self) -> Operation:
        """The operation that fills the table."""
        return self.initializer
