"""Ops on lookup tables: finding, inserting, removing, filling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, op
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.ops.io.stored import from_stored, path_in, to_stored
from stillflow.ops.lookup.tables import StaticTable, Table, invalid
from stillflow.ops.lookup.text_files import Columns, fill_from_file

# Behind the handle: the rest of each op's signature.
_SIGNATURES = {
    "LookupTableFind": ", keys: Tin, default_value: Tout) -> values: Tout\nTin: type\nTout: type",
    "LookupTableInsert": ", keys: Tin, values: Tout)\nTin: type\nTout: type",
    "LookupTableRemove": ", keys: Tin)\nTin: type",
    "LookupTableSize": ") -> size: int64",
    "LookupTableExport": ") -> (keys: Tkeys, values: Tvalues)\nTkeys: type\nTvalues: type",
    "LookupTableImport": ", keys: Tin, values: Tout)\nTin: type\nTout: type",
    "InitializeTable": ", keys: Tkey, values: Tval)\nTkey: type\nTval: type",
    "InitializeTableFromTextFile": ", filename: string)\nkey_index: int >= -2\n"
    'value_index: int >= -2\nvocab_size: int >= -1 = -1\ndelimiter: string = "\\t"',
}
_V2_ONLY = ("LookupTableRemove",)
_WITH_OUTPUTS = ("LookupTableFind", "LookupTableSize", "LookupTableExport")
# TF calls these differentiable, but a gradient of these is a LookupError there.
_NO_GRADIENT = (
    "LookupTableFind", "LookupTableInsert", "LookupTableSize", "InitializeTable",
    "InitializeTableFromTextFile",
)  # fmt: skip


def _card(kind: str, version: str) -> Card:
    handle = "table_handle: resource" if version else "table_handle: &string"
    options: dict[str, Any] = {"differentiable": False} if kind in _NO_GRADIENT else {}
    return op(
        f"{kind}{version}({handle}{_SIGNATURES[kind]}" + ("\nflags: stateful" if version else ""),
        effect="reads files" if kind.endswith("TextFile") else "state", handle="table", **options,
    )  # fmt: skip


# ---- Shapes: those of the table, where its handle tells.


def _handle_rank(node: Any) -> None:
    dims_lib.with_rank(node.dims(0), 0 if node.inputs[0].dtype.name == "resource" else 1)


def _check_types(node: Any, key: Any, value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the dims of a key and a value, or None where the handle does not tell."""
    handle = node.inputs[0]
    known = getattr(handle, "_handle_key", None)
    if known is None:
        return None
    for theirs, ours in ((known[1], key), (handle._handle_dtype, value)):
        if theirs != ours:
            raise ValueError(
                f"Trying to read value with wrong dtype. Expected {cpp_name(theirs)} got "
                f"{cpp_name(ours)}"
            )
    return known[0], handle._handle_dims


def _find_shape(node: Any) -> tuple[int | None, ...] | None:
    if node.planning:
        return _planned_find_shape(node)
    _handle_rank(node)
    dims_lib.with_rank_at_most(node.dims(2), 1)
    known = _check_types(node, node.Tin, node.Tout)
    keys = node.dims(1)
    if known is None or keys is None or known[0] is None:
        return None
    key, value = known
    if len(keys) < len(key):
        raise ValueError(
            f"Expected keys to have suffix {dims_lib.to_string(key)} but saw shape: "
            f"{dims_lib.to_string(keys)}"
        )
    return dims_lib.concat(keys[: len(keys) - len(key)], value)


def _planned_find_shape(node: Any) -> tuple[int | None, ...] | None:
    table, keys = node.state(0), node.dims(1)
    if not isinstance(table, Table) or keys is None or len(keys) < len(table.key_shape):
        return None
    return keys[: len(keys) - len(table.key_shape)] + table.value_shape


def _export_shape(node: Any) -> list[tuple[int | None, ...] | None]:
    if node.planning:
        return [None, None]
    _handle_rank(node)
    known = _check_types(node, node.Tkeys, node.Tvalues)
    return [(None,), None if known is None else dims_lib.concat((None,), known[1])]


def _checked_pairs(node: Any) -> None:
    """Import and initialization take vectors."""
    if node.planning:
        return
    _handle_rank(node)
    dims_lib.merge(dims_lib.with_rank(node.dims(1), 1), node.dims(2))


def _checked_handle(node: Any) -> None:
    if not node.planning:
        _handle_rank(node)


def _checked_filename(node: Any) -> None:
    if not node.planning:
        _handle_rank(node)
        dims_lib.with_rank(node.dims(1), 0)


def _checked_removal(node: Any) -> None:
    if not node.planning:
        _handle_rank(node)
        dims_lib.with_rank_at_least(node.dims(1), 1)


# ---- Kernels. Tables are kept on the host.


def _table(value: Any, fillable: bool = False) -> Table:
    if not isinstance(value, Table):
        raise invalid("The handle is not that of a lookup table")
    if fillable and not isinstance(value, StaticTable):
        raise invalid(f"Table {value.name} is not initializable")
    return value


def _match(node: Any, table: Table, key: Any, value: Any, gives: bool = False) -> None:
    ours, theirs = [key, value], [table.key_dtype, table.value_dtype]
    if value is None:
        ours, theirs = ours[:1], theirs[:1]
    if ours != theirs:
        handle = "resource" if node.inputs[0].dtype.name == "resource" else "string_ref"

        def text_of(types: list[Any]) -> str:
            names = ", ".join([handle, *(cpp_name(dtype) for dtype in types)])
            return f"{names}->{cpp_name(types[-1]) if gives else ''}"

        raise invalid(f"Signature mismatch, have: {text_of(ours)} expected: {text_of(theirs)}")


def _find_kernel(node: Any) -> Callable[..., Any]:
    device = node.device

    def find(handle: Any, keys: Any, default: Any) -> torch.Tensor | Array:
        table = _table(handle)
        _match(node, table, node.Tin, node.Tout, gives=True)
        found = table.find(to_stored(keys), to_stored(default))
        return from_stored(found, table.value_dtype, device)

    return find


def _pairs_kernel(how: str) -> Callable[..., Any]:
    def kernel(node: Any) -> Callable[..., Any]:
        def change(handle: Any, keys: Any, values: Any) -> None:
            table = _table(handle)
            _match(node, table, node.Tin, node.Tout)
            given = to_stored(keys), to_stored(values)
            (table.check_import if how == "replace" else table.check_pairs)(*given)
            getattr(table, how)(*given)

        return change

    return kernel


def _remove_kernel(node: Any) -> Callable[..., Any]:
    def remove(handle: Any, keys: Any) -> None:
        table = _table(handle)
        _match(node, table, node.Tin, None)
        given = to_stored(keys)
        table.check_keys(given.shape)
        table.remove(given)

    return remove


def _size_kernel(node: Any) -> Callable[..., Any]:
    device = node.device
    return lambda handle: torch.tensor(_table(handle).size(), dtype=torch.int64, device=device)


def _export_kernel(node: Any) -> Callable[..., Any]:
    device = node.device

    def export(handle: Any) -> tuple[torch.Tensor | Array, torch.Tensor]:
        table = _table(handle)
        keys, values = table.all_entries()
        return (
            from_stored(keys, table.key_dtype, device),
            from_stored(values, table.value_dtype, device),
        )

    return export


def _initialize_kernel(node: Any) -> Callable[..., Any]:
    def initialize(handle: Any, keys: Any, values: Any) -> None:
        table = _table(handle, fillable=True)
        _match(node, table, node.Tkey, node.Tval)
        given = to_stored(keys), to_stored(values)
        table.check_pairs(*given)
        table.replace(*given)

    return initialize


def _from_text_file_kernel(node: Any) -> Callable[..., Any]:
    delimiter = node.delimiter
    if len(delimiter) != 1:
        raise invalid("delimiter should be only 1 char")
    columns = Columns(node.key_index, node.value_index, delimiter)
    vocab_size = node.vocab_size

    def initialize(handle: Any, filename: Any) -> None:
        table = _table(handle, fillable=True)
        if filename.ndim:
            raise invalid(
                f"filename should be a single string, but got {shape_text(filename.shape)}"
            )
        if not filename.item():
            raise invalid("filename cannot be empty.")
        assert isinstance(table, StaticTable)
        fill_from_file(table, path_in(filename), vocab_size, columns)

    return initialize


_PARTS: dict[str, tuple[Any, Any]] = {
    "LookupTableFind": (_find_shape, _find_kernel),
    "LookupTableInsert": (_checked_handle, _pairs_kernel("insert")),
    "LookupTableRemove": (_checked_removal, _remove_kernel),
    "LookupTableSize": (lambda node: (), _size_kernel),
    "LookupTableExport": (_export_shape, _export_kernel),
    "LookupTableImport": (_checked_pairs, _pairs_kernel("replace")),
    "InitializeTable": (_checked_pairs, _initialize_kernel),
    "InitializeTableFromTextFile": (_checked_filename, _from_text_file_kernel),
}
cards: dict[str, Card] = {}
for _kind, (_shape, _kernel) in _PARTS.items():
    for _version in ("V2",) if _kind in _V2_ONLY else ("", "V2"):
        _made = cards[_kind + _version] = _card(_kind, _version)
        if _kind in _WITH_OUTPUTS:
            _made.shape(_shape)
        else:
            _made.check(_shape)
        _made.kernel(_kernel)

lookup_table_find_v2_op = cards["LookupTableFindV2"]
lookup_table_insert_v2_op = cards["LookupTableInsertV2"]
lookup_table_remove_v2_op = cards["LookupTableRemoveV2"]
lookup_table_size_v2_op = cards["LookupTableSizeV2"]
lookup_table_export_v2_op = cards["LookupTableExportV2"]
lookup_table_import_v2_op = cards["LookupTableImportV2"]
initialize_table_v2_op = cards["InitializeTableV2"]
initialize_table_from_text_file_v2_op = cards["InitializeTableFromTextFileV2"]
