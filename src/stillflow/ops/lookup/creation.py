"""Ops that make lookup tables."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import Card, op
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.ops.io.stored import to_stored
from stillflow.ops.lookup.dense_table import DenseTable
from stillflow.ops.lookup.tables import MutableTable, StaticTable, Table, invalid
from stillflow.ops.queues.attempts import private_name

_TAIL = """
    container: string = ""
    shared_name: string = ""
    use_node_name_sharing: bool = false
    key_dtype: type
    value_dtype: type
    {more}
    flags: stateful
"""
_MORE = {
    "MutableHashTableOfTensors": "value_shape: shape = []",
    "MutableDenseHashTable": "value_shape: shape = []\ninitial_num_buckets: int = 131072\n"
    "max_load_factor: float = 0.80000001",
}


# The types of keys that TF's kernels take, and of values for each.
_MOST = "bool double float int32 int64"
_KERNELS = {
    "HashTable": {
        "int32": "double float int32 string", "int64": "double float int32 int64 string",
        "string": f"{_MOST} string",
    },
    "MutableHashTable": {
        "int32": "double float int32", "int64": "double float int32 int64 string variant",
        "string": _MOST,
    },
    "MutableHashTableOfTensors": {
        "int32": "double float int32", "int64": "double float int32 int64 string",
        "string": _MOST,
    },
    "MutableDenseHashTable": {
        "int32": "double float int32", "int64": f"{_MOST} variant", "string": _MOST,
    },
}  # fmt: skip


def _card(kind: str, version: str) -> Card:
    inputs = ""
    if kind == "MutableDenseHashTable":
        inputs = "empty_key: key_dtype" + (", deleted_key: key_dtype" if version else "")
    handle = "resource" if version else "&string"
    tail = _TAIL.format(more=_MORE.get(kind, ""))
    return op(
        f"{kind}{version}({inputs}) -> table_handle: {handle}{tail}",
        differentiable=False,
        handle="table",
        gives="table",
    )


def _static(node: Any, name: str) -> Table:
    return StaticTable(name, node.key_dtype, node.value_dtype)


def _mutable(node: Any, name: str) -> Table:
    return MutableTable(name, node.key_dtype, node.value_dtype)


def _of_tensors(node: Any, name: str) -> Table:
    shape = tuple(node.value_shape.as_list())
    if len(shape) != 1:
        raise invalid(f"Default value must be a vector, got shape {shape_text(shape)}")
    return MutableTable(name, node.key_dtype, node.value_dtype, (), shape)


def _dense(node: Any, name: str, keys: tuple[Any, ...]) -> Table:
    empty, deleted = keys[0], keys[1] if len(keys) > 1 else None
    return DenseTable(
        name, node.key_dtype, node.value_dtype, tuple(node.value_shape.as_list()), empty, deleted,
        node.initial_num_buckets, node.max_load_factor,
    )  # fmt: skip


_KINDS = {
    "HashTable": _static,
    "MutableHashTable": _mutable,
    "MutableHashTableOfTensors": _of_tensors,
    "MutableDenseHashTable": None,
}


def _shape(node: Any) -> tuple[int, ...]:
    handle = node.outputs[0]
    if handle.dtype.name != "resource":
        return (2,)
    if node.op.type == "HashTableV2":
        return ()  # TF does not state their shapes
    shape = node.op.attrs.get("value_shape")
    handle._handle_dims = () if shape is None else shape._dims
    handle._handle_dtype = node.value_dtype
    handle._handle_key = (node.dims(0) if node.inputs else ()), node.key_dtype
    return ()


def _found(node: Any, create: Any) -> Table:
    shared = node.op.attrs["shared_name"].decode()
    name = shared or (node.op.name if node.use_node_name_sharing else "")
    shown = name or private_name(node.op.name)
    table: Table = node.resource(lambda: create(shown), kind="table", name=name, private=True)
    if (table.key_dtype, table.value_dtype) != (node.key_dtype, node.value_dtype):
        wanted, found = (
            [cpp_name(dtype) for dtype in (of.key_dtype, of.value_dtype)] for of in (node, table)
        )
        raise invalid(
            f"Conflicting key/value dtypes {'->'.join(wanted)} with {'-'.join(found)} for table "
            f"{shown}"
        )
    return table


def _check_kernel(node: Any, op_type: str) -> None:
    values = _KERNELS[op_type].get(node.key_dtype.name, "").split()
    if cpp_name(node.value_dtype) in values:
        return
    types = [f"DT_{cpp_name(each).upper()}" for each in (node.key_dtype, node.value_dtype)]
    raise invalid(
        f"No OpKernel was registered to support Op '{node.op.type}' used by "
        f"{{{{node {node.op.name}}}}}with these attrs: [key_dtype={types[0]}, "
        f"value_dtype={types[1]}]"
    )


def _kernel(node: Any) -> Any:
    op_type = node.op.type.removesuffix("V2")
    _check_kernel(node, op_type)
    kind = _KINDS[op_type]
    if kind is not None:
        return node.handle(_found(node, lambda name: kind(node, name)))
    known = tuple(node.value(i) for i in range(len(node.inputs)))
    if any(key is None for key in known):
        return lambda *keys: _dense_found(node, keys)  # those of the first run make the table
    return node.handle(_dense_found(node, known))


def _dense_found(node: Any, keys: tuple[Any, ...]) -> Table:
    stored = tuple(map(to_stored, keys))
    return _found(node, lambda name: _dense(node, name, stored))


cards: dict[str, Card] = {kind + v: _card(kind, v) for kind in _KINDS for v in ("", "V2")}
for _made in cards.values():
    _made.shape(_shape)
    _made.kernel(_kernel)

hash_table_op = cards["HashTable"]
hash_table_v2_op = cards["HashTableV2"]
mutable_hash_table_op = cards["MutableHashTable"]
mutable_hash_table_v2_op = cards["MutableHashTableV2"]
mutable_hash_table_of_tensors_op = cards["MutableHashTableOfTensors"]
mutable_hash_table_of_tensors_v2_op = cards["MutableHashTableOfTensorsV2"]
mutable_dense_hash_table_op = cards["MutableDenseHashTable"]
mutable_dense_hash_table_v2_op = cards["MutableDenseHashTableV2"]
