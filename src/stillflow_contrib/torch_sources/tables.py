"""Lookup tables as dictionaries of Python, with the entries that they have in the session."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of, torch_name


def _kind(dtype: Any) -> Text:
    """Return the type of values; None for strings."""
    return Text("None" if dtype.name == "string" else torch_name(dtype))


@source_of("LookupTableFind", "LookupTableFindV2")
def find_source(node: Node, table: Any, keys: Any, default: Any) -> Call:
    return node.call(_found, table, keys, default, _key_rank(node), _kind(node.Tout))


def _found(table: Any, keys: Any, default: Any, rank: int, dtype: Any) -> Any:
    outer, missing = keys.shape[: keys.ndim - rank], default.tolist()
    found = [table.get(key, missing) for key in _keys(keys, rank)]
    return _values_of(found, dtype, (*outer, *default.shape))


def _values_of(items: Any, dtype: Any, shape: Any) -> Any:
    if dtype is not None:
        return torch.tensor(items, dtype=dtype).reshape(shape)
    texts = np.empty(shape, object)
    texts.reshape(-1)[:] = [
        each for row in items for each in (row if isinstance(row, list) else [row])
    ]
    return texts


@source_of("LookupTableInsert", "LookupTableInsertV2")
def insert_source(node: Node, table: Any, keys: Any, values: Any) -> Call:
    return node.call(_insert, table, keys, values, _key_rank(node))


@source_of("LookupTableImport", "LookupTableImportV2", "InitializeTable", "InitializeTableV2")
def import_source(node: Node, table: Any, keys: Any, values: Any) -> Call:
    return node.call(_replace, table, keys, values, _key_rank(node))


@source_of("LookupTableRemoveV2")
def remove_source(node: Node, table: Any, keys: Any) -> Call:
    return node.call(_remove, table, keys, _key_rank(node))


def _key_rank(node: Node) -> int:
    return len(getattr(node.state(0), "key_shape", ()))


def _keys(keys: Any, rank: int) -> Any:
    rows = keys.reshape(-1, *keys.shape[keys.ndim - rank :]).tolist()
    return [tuple(row) for row in rows] if rank else rows


def _insert(table: Any, keys: Any, values: Any, rank: int) -> None:
    found = _keys(keys, rank)
    rows = values.reshape(len(found), *values.shape[keys.ndim - rank :]).tolist()
    table.update(zip(found, rows))


def _replace(table: Any, keys: Any, values: Any, rank: int) -> None:
    table.clear()
    _insert(table, keys, values, rank)


def _remove(table: Any, keys: Any, rank: int) -> None:
    for key in _keys(keys, rank):
        table.pop(key, None)


@source_of("LookupTableSize", "LookupTableSizeV2")
def size_source(node: Node, table: Any) -> str:
    return f"torch.tensor(len({table}), device=self.device)"


@source_of("LookupTableExport", "LookupTableExportV2")
def export_source(node: Node, table: Any) -> Call:
    return node.call(_entries, table, _kind(node.Tkeys), _kind(node.Tvalues))


def _entries(table: Any, keys: Any, values: Any) -> Any:
    rows = [list(key) if isinstance(key, tuple) else key for key in table]
    found = []
    for items, dtype in ((rows, keys), (list(table.values()), values)):
        inner = np.shape(items)[1:]
        found.append(_values_of(items, dtype, (len(items), *inner)))
    return tuple(found)
