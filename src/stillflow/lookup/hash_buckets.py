"""Tables of ids that give ids to unknown keys as well, by hashing them into buckets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.lookup.interface import LookupInterface, signature_mismatch
from stillflow.lookup.static_tables import HashTable
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.math.binary import add
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import not_equal
from stillflow.ops.strings.elementwise import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from stillflow.ops.strings.numbers import as_string
from stillflow.platform import compat
from stillflow.util.notices import noticed


@export("contrib.lookup.HasherSpec")
class HasherSpec(NamedTuple):
    """Hash function of strings: "fasthash", "legacy" or "stronghash", and the latter's key."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)
export_value("contrib.lookup.FastHashSpec", FastHashSpec)


@export("contrib.lookup.StrongHashSpec")
class StrongHashSpec(HasherSpec):
    """A hash that nobody can provoke collisions of, without the key.

    Args:
      key: two integers.

    Raises:
      ValueError: for another number of them.
      TypeError: for others.
    """

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(word, compat.integral_types) for word in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _check_keys(table_dtype: Any, wanted: Any, shown: Any) -> None:
    supported = (dtypes.int64, dtypes.string)
    if table_dtype not in supported:
        raise TypeError(f"Invalid key dtype, expected one of {supported}, but got {shown}.")
    if table_dtype.is_integer != wanted.is_integer:
        kind = "integer" if wanted.is_integer else "non-integer"
        raise TypeError(f"Invalid key dtype, expected {kind} but got {table_dtype}.")


class Bucketed(LookupInterface):
    """A table of ids, if there is one, and buckets for other keys.

    Args:
      table: a table of int64 ids, or None.
      num_oov_buckets: the number of buckets.
      key_dtype: the type of keys.
      name: of the table.
    """

    def __init__(self, table: Any, num_oov_buckets: int, key_dtype: Any, name: Any) -> None:
        if not key_dtype.is_integer and key_dtype != dtypes.string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")
        self._table, self._num_oov_buckets = table, num_oov_buckets
        self._table_name = name.split("/")[-1] if name else None
        super().__init__(key_dtype, dtypes.int64)

    def _create_resource(self) -> Any:
        return None if self._table is None else self._table._create_resource()

    def _initialize(self) -> Operation:
        if self._table is not None:
            return self._table._initialize()
        with name_scope(None, "init"):
            return no_op()

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        if self._table is not None:
            return self._table._init_op
        with name_scope(None, "init"):
            return no_op()

    @property
    def resource_handle(self) -> Any:
        """The tensor that stands for the table, or None."""
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> Any:
        """The table's name."""
        return self._table_name

    def size(self, name: str | None = None) -> Any:
        """Return the number of ids, an int64 scalar tensor."""
        with name_scope(name, f"{self.name}_Size"):
            known = self._table.size() if self._table else convert_to_tensor(0, dtypes.int64)
            return known + self._num_oov_buckets

    def _to_bucket(self) -> Callable[..., Any]:
        return string_to_hash_bucket_fast

    def _ids(self, values: Any) -> Tensor:
        strings = values if values.dtype.base_dtype == dtypes.string else as_string(values)
        to_bucket = self._to_bucket()
        buckets = to_bucket(strings, num_buckets=self._num_oov_buckets, name="hash_bucket")
        if not self._table:
            return buckets
        ids = self._table.lookup(values)
        buckets = add(buckets, self._table.size())
        return where_v2(not_equal(ids, self._table.default_value), ids, buckets)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor | SparseTensor:
        """Return the ids of keys.

        Args:
          keys: a tensor or a SparseTensor.
          name: a name scope.

        Raises:
          TypeError: for keys of another type.
        """
        if keys.dtype.base_dtype != self._key_dtype:
            raise signature_mismatch(self._key_dtype, keys.dtype)
        sparse = isinstance(keys, SparseTensor)
        values = keys.values if sparse else keys
        if self._table and self._table.key_dtype.base_dtype == dtypes.int64:
            values = cast(values, dtypes.int64)
        if self._num_oov_buckets == 0:
            ids = self._table.lookup(values, name=name)
        else:
            with name_scope(name, f"{self.name}_Lookup"):
                ids = self._ids(values)
        return SparseTensor(keys.indices, ids, keys.dense_shape) if sparse else ids


@export("contrib.lookup.IdTableWithHashBuckets")
class IdTableWithHashBuckets(Bucketed):
    """A table of ids, and buckets for keys that are not there.

    Args:
      table: a table of int64 ids, or None.
      num_oov_buckets: the number of buckets.
      hasher_spec: how keys are hashed.
      name: of the table.
      key_dtype: the type of keys; that of the table by default.

    Raises:
      TypeError: for types that do not go together.
      ValueError: if there is neither table nor buckets.
    """

    def __init__(
        self, table: Any, num_oov_buckets: int, hasher_spec: Any = FastHashSpec,
        name: str | None = None, key_dtype: Any = None,
    ) -> None:  # fmt: skip
        name = name.rstrip("/") if name else name
        if table:
            key_dtype = table.key_dtype if key_dtype is None else key_dtype
            _check_keys(table.key_dtype, key_dtype, key_dtype)
            if table.value_dtype != dtypes.int64:
                raise TypeError(
                    f"Invalid value dtype, expected {dtypes.int64} but got {table.value_dtype}."
                )
            name = name or table.name
        else:
            if num_oov_buckets <= 0:
                raise ValueError("oov_buckets must be > 0 if no table is supplied.")
            key_dtype, name = (
                dtypes.string if key_dtype is None else key_dtype,
                name or "hash_bucket",
            )
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        self._hasher_spec = hasher_spec
        super().__init__(table if table else None, num_oov_buckets, key_dtype, name)

    @property
    @noticed("contrib.lookup.IdTableWithHashBuckets")
    def init(self) -> Any:
        """The operation that fills the table."""
        return self.initializer

    def _to_bucket(self) -> Callable[..., Any]:
        spec = self._hasher_spec
        if spec.hasher == "stronghash":
            return functools.partial(string_to_hash_bucket_strong, key=spec.key)
        if spec.hasher == "legacy":
            return string_to_hash_bucket
        if spec.hasher != "fasthash":
            raise ValueError(f"Unknown hasher {spec.hasher}")
        return string_to_hash_bucket_fast


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTable(Bucketed):
    """A table of ids that is filled once, and buckets for keys that are not there.

    Args:
      initializer: fills it, with int64 values; None for buckets only.
      num_oov_buckets: the number of buckets.
      lookup_key_dtype: the type of keys; that of the initializer by default.
      name: of the table.

    Raises:
      ValueError: if there are no buckets.
      TypeError: for types that do not go together.
    """

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        name, table = name.rstrip("/") if name else name, None
        if initializer:
            given = initializer.key_dtype
            lookup_key_dtype = given if lookup_key_dtype is None else lookup_key_dtype
            _check_keys(given, lookup_key_dtype, given)
            if initializer.value_dtype != dtypes.int64:
                raise TypeError(
                    f"Invalid value dtype, expected {dtypes.int64} but got "
                    f"{initializer.value_dtype}."
                )
            table = HashTable(initializer, default_value=-1)
            name = name or table.name
        else:
            lookup_key_dtype, name = dtypes.string, name or "hash_bucket"
        super().__init__(table, num_oov_buckets, lookup_key_dtype, name)
