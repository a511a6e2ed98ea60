"""Ops of readers: WholeFileReader, TFRecordReader ..., ReaderRead, ReaderReset and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Handle, Node
from stillflow.ops.io.readers import records
from stillflow.ops.io.readers.reader import Reader
from stillflow.ops.queues.attempts import private_name

_SHARED = 'container: string = ""\nshared_name: string = ""\nflags: stateful'
_FIXED = "header_bytes: int = 0\nrecord_bytes: int\nfooter_bytes: int = 0\nhop_bytes: int = 0\n"


def _text_lines(node: Node) -> records.Records:
    skip = node.skip_header_lines
    if skip < 0:
        raise ValueError(f"skip_header_lines must be >= 0 not {skip}")
    return records.text_lines(skip)


def _tf_records(node: Node) -> records.Records:
    return records.tf_records(_compression(node.compression_type))


def _compression(given: bytes) -> str:
    kind = given.decode()
    return kind if kind in ("ZLIB", "GZIP") else ""


def _fixed_length(node: Node) -> records.Records:
    sizes = [getattr(node, f"{part}_bytes") for part in ("header", "record", "footer", "hop")]
    for part, size in zip(("header", "record", "footer", "hop"), sizes, strict=True):
        if size < 0:
            raise ValueError(f"{part}_bytes must be >= 0 not {size}")
    if sizes[1] + sizes[2] == 0:
        raise ValueError("record_bytes must be > 0")  # there would be no end to the records
    header, record, footer, hop = sizes
    encoding = _compression(node.op.attrs.get("encoding", b""))
    return records.fixed_length(header, record, footer, hop, encoding)


# By kind: additional attributes of versions 1 and 2, and the source of records.
_KINDS: dict[str, tuple[str, str, Callable[[Node], records.Records]]] = {
    "WholeFileReader": ("", "", lambda node: records.whole_file),
    "IdentityReader": ("", "", lambda node: records.identity),
    "TextLineReader": ("skip_header_lines: int = 0\n",) * 2 + (_text_lines,),
    "TFRecordReader": ("", "", _tf_records),
    "FixedLengthRecordReader": (_FIXED, _FIXED, _fixed_length),
    "LMDBReader": ("", "", lambda node: records.lmdb_entries),
}
_LAST = {
    "TFRecordReader": 'compression_type: string = ""\n',
    "FixedLengthRecordReaderV2": 'encoding: string = ""\n',
    "TFRecordReaderV2": 'compression_type: string = ""\n',
}
_ONE_RECORD = ("WholeFileReader", "IdentityReader")


def _making_card(name: str, attrs: str) -> Card:
    handle = "resource" if name.endswith("V2") else "&string"
    shared, flags = _SHARED.rsplit("\n", 1)
    return op(
        f"{name}() -> reader_handle: {handle}\n{attrs}{shared}\n{_LAST.get(name, '')}{flags}",
        effect="state" if name.startswith("Identity") else "reads files",
        handle="reader",
        gives="reader",
        differentiable=False,
    )


def _making_kernel(kind: str, records_of: Callable[[Node], records.Records]) -> Callable[..., Any]:
    def kernel(node: Any) -> Handle:
        source = records_of(node)

        def make() -> Reader:
            if not node.op.attrs["shared_name"]:
                private_name(node.name)  # a reader counts among queues; their names tell
            return Reader(f"{kind} '{node.name}'", source, kind in _ONE_RECORD)

        return node.handle(node.resource(make, kind="reader", private=True))

    return kernel


making: dict[str, Card] = {}
for _kind, (_first, _second, _records_of) in _KINDS.items():
    for _version, _attrs in (("", _first), ("V2", _second)):
        if _kind + _version == "LMDBReaderV2":
            continue
        _card = making[_kind + _version] = _making_card(_kind + _version, _attrs)
        _card.shape((lambda node: ()) if _version else (lambda node: (2,)))
        _card.kernel(_making_kernel(_kind, _records_of))


# ---- Operations on readers

_USES = {
    "ReaderRead": (", queue_handle: {h})", "(key: string, value: string)"),
    "ReaderReadUpTo": (
        ", queue_handle: {h}, num_records: int64)",
        "(keys: string, values: string)",
    ),
    "ReaderNumRecordsProduced": (")", "records_produced: int64"),
    "ReaderNumWorkUnitsCompleted": (")", "units_completed: int64"),
    "ReaderSerializeState": (")", "state: string"),
    "ReaderRestoreState": (", state: string)", ""),
    "ReaderReset": (")", ""),
}


def _using_card(name: str, version: str) -> Card:
    inputs, outputs = _USES[name]
    handle = "resource" if version else "&string"
    arrow = f" -> {outputs}" if outputs else ""
    flags = "\nflags: stateful" if version else ""
    return op(
        f"{name}{version}(reader_handle: {handle}{inputs.format(h=handle)}{arrow}{flags}",
        effect="reads files" if "Read" in name.removeprefix("Reader") else "state",
        handle="reader",
        differentiable=False,
    )


using = {name + version: _using_card(name, version) for name in _USES for version in ("", "V2")}


def _text(value: bytes) -> np.ndarray:
    return np.array(value, dtype=object)


def _texts(values: list[bytes]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _read_kernel(node: Any) -> Callable[..., Any]:
    waits = node.waits()

    def read(reader: Reader, queue: Any) -> Any:
        key, value = reader.read(queue, waits)
        return _text(key), _text(value)

    return read


def _read_up_to_kernel(node: Any) -> Callable[..., Any]:
    waits = node.waits()

    def read_up_to(reader: Reader, queue: Any, num_records: Any) -> tuple[Array, Array]:
        found = reader.read_up_to(queue, int(num_records), waits)
        return _texts([key for key, _ in found]), _texts([value for _, value in found])

    return read_up_to


def _restore_kernel(node: Node) -> Callable[..., Any]:
    def restore(reader: Reader, state: np.ndarray) -> None:
        if state.ndim:
            raise errors.invalid_argument(
                f"Reader state must be scalar, but had shape: {shape_text(state.shape)}"
            )
        reader.restore(state.item())

    return restore


def _up_to_shape(node: Node) -> list[tuple[int | None, ...]]:
    dims_lib.with_rank(node.dims(2), 0)
    return [(None,), (None,)]


def _restore_check(node: Node) -> None:
    if not node.planning:
        dims_lib.with_rank(node.dims(1), 0)


def _scalars(node: Node) -> list[Any]:
    return [()] * len(node.outputs)


_PARTS: dict[str, tuple[Any, Any]] = {
    "ReaderRead": (_scalars, _read_kernel),
    "ReaderReadUpTo": (_up_to_shape, _read_up_to_kernel),
    "ReaderNumRecordsProduced": (
        _scalars, lambda node: lambda reader: torch.tensor(reader.records_produced),
    ),
    "ReaderNumWorkUnitsCompleted": (
        _scalars, lambda node: lambda reader: torch.tensor(reader.work_units_completed),
    ),
    "ReaderSerializeState": (_scalars, lambda node: lambda reader: _text(reader.serialize())),
    "ReaderRestoreState": (None, _restore_kernel),
    "ReaderReset": (None, lambda node: Reader.reset),
}  # fmt: skip
for _name, (_shape, _kernel) in _PARTS.items():
    for _version in ("", "V2"):
        _card = using[_name + _version]
        if _shape is not None:
            _card.shape(_shape)
        _card.kernel(_kernel)
        if _name == "ReaderRestoreState":
            _card.check(_restore_check)
