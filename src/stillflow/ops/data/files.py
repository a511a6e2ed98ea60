"""Datasets of what is in files: TextLineDataset, TFRecordDataset, FixedLengthRecordDataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import compression
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.records import Cursor, open_records
from stillflow.graph import dtypes
from stillflow.graph.node import Node
from stillflow.ops.data.pipeline import (
    Context,
    Dataset,
    Element,
    Elements,
    dataset_op,
    invalid,
    scalar,
)

_SMALLEST_BUFFER = 1 << 16

text_line_dataset_op = dataset_op(
    "TextLineDataset(filenames: string, compression_type: string, buffer_size: int64) -> "
    "handle: variant\nflags: stateful",
    effect="reads files",
)
tf_record_dataset_op = dataset_op(
    "TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64) -> "
    "handle: variant\nflags: stateful",
    effect="reads files",
)
fixed_length_record_dataset_op = dataset_op(
    "FixedLengthRecordDataset(filenames: string, header_bytes: int64, record_bytes: int64, "
    "footer_bytes: int64, buffer_size: int64) -> handle: variant\nflags: stateful",
    effect="reads files",
)
fixed_length_record_dataset_v2_op = dataset_op(
    "FixedLengthRecordDatasetV2(filenames: string, header_bytes: int64, record_bytes: int64, "
    "footer_bytes: int64, buffer_size: int64, compression_type: string) -> handle: variant\n"
    "flags: stateful",
    effect="reads files",
)

Open = Callable[[str], Iterator[bytes]]


def string(value: bytes) -> np.ndarray:
    """A string as a run-time value."""
    array = np.empty((), object)
    array[()] = value
    return array


class Records:
    """The records of files one after the other; what goes wrong ends the file."""

    def __init__(self, names: list[str], start: Open) -> None:
        self.names = iter(names)
        self.start = start
        self.current: Iterator[bytes] = iter(())

    def __iter__(self) -> Records:
        return self

    def __next__(self) -> Element:
        while True:
            for record in self.current:
                return (string(record),)
            self.current = self.start(next(self.names))


def _dataset(kind: str, filenames: Any, start: Open) -> Dataset:
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    names = [name.decode() for name in np.atleast_1d(filenames).tolist()]

    def make(context: Context, prefix: str) -> Elements:
        return Records(names, start)

    return Dataset(kind, [dtypes.string], [()], make)


def _compression(value: Any) -> str:
    kind: str = scalar(value).decode()
    if kind not in ("", "ZLIB", "GZIP"):
        raise invalid("Unsupported compression_type.")
    return kind


def _check_buffer(size: int) -> None:
    if size < 0:
        raise invalid("`buffer_size` must be >= 0 (0 == default)")


@tf_record_dataset_op.kernel
def tf_record_dataset_kernel(node: Node) -> Any:
    def run(filenames: Any, compression_type: Any, size: Any) -> Dataset:
        kind = scalar(compression_type).decode()
        if scalar(size) < 0:
            raise invalid("`buffer_size` must be >= 0 (0 == no buffering)")

        def start(name: str) -> Iterator[bytes]:
            with open_records(name, kind) as file:
                yield from Cursor(file, name)

        return _dataset("TFRecord", filenames, start)

    return run


def _open_bytes(name: str, kind: str) -> Any:
    file = open_file(name, "rb")
    return compression.DecompressedReader(file, kind) if kind else file


def _chunks(file: Any, name: str, size: int) -> Iterator[bytes]:
    while True:
        with os_errors(name):
            chunk = file.read(size)
        if not chunk:
            return
        yield chunk


def lines(name: str, kind: str, size: int) -> Iterator[bytes]:
    """The lines of a file without their ends; carriage returns at line ends go, too."""
    with _open_bytes(name, kind) as file:
        rest = b""
        for chunk in _chunks(file, name, size):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.replace(b"\r", b"")
        if rest:
            yield rest.replace(b"\r", b"")


@text_line_dataset_op.kernel
def text_line_dataset_kernel(node: Node) -> Any:
    def run(filenames: Any, compression_type: Any, size: Any) -> Dataset:
        kind = _compression(compression_type)
        _check_buffer(scalar(size))
        chunk = max(scalar(size), _SMALLEST_BUFFER)
        return _dataset("TextLine", filenames, lambda name: lines(name, kind, chunk))

    return run


def _fixed(name: str, kind: str, header: int, record: int, footer: int) -> Iterator[bytes]:
    with _open_bytes(name, kind) as file, os_errors(name):
        if kind:
            yield from _fixed_of_stream(file, name, header, record, footer)
            return
        size = file.seek(0, 2)
        body = size - header - footer
        if body % record:
            raise invalid(
                f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
                f'"{name}" has body length {body} bytes, which is not an exact multiple of the '
                f"record length ({record} bytes)."
            )
        file.seek(header)
        for _ in range(body // record):
            yield file.read(record)


def _fixed_of_stream(
    file: Any, name: str, header: int, record: int, footer: int
) -> Iterator[bytes]:
    data = file.read(-1)
    if len(data) < header:
        raise errors.OutOfRangeError(None, None, "EOF reached")
    body = data[header : len(data) - footer]
    if len(body) % record:
        raise invalid(
            f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f'"{name}" has body length {len(body)} bytes, which is not an exact multiple of the '
            f"record length ({record} bytes)."
        )
    for first in range(0, len(body), record):
        yield body[first : first + record]


def _fixed_kernel(node: Node) -> Any:
    def run(
        filenames: Any, header: Any, record: Any, footer: Any, size: Any, *rest: Any
    ) -> Dataset:
        sizes = scalar(header), scalar(record), scalar(footer)
        for number, name, least in (
            (sizes[0], "header_bytes", 0), (sizes[1], "record_bytes", 1),
            (sizes[2], "footer_bytes", 0), (scalar(size), "buffer_size", 0),
        ):  # fmt: skip
            if number < least:
                raise invalid(f"`{name}` must be {'> 0' if least else '>= 0'}")
        kind = _compression(rest[0]) if rest else ""
        return _dataset("FixedLengthRecord", filenames, lambda name: _fixed(name, kind, *sizes))

    return run


fixed_length_record_dataset_op.kernel(_fixed_kernel)
fixed_length_record_dataset_v2_op.kernel(_fixed_kernel)
