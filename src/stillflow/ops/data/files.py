"""Datasets of files' contents: TextLineDataset, TFRecordDataset, FixedLengthRecordDataset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from stillflow import errors
from stillflow.files import compression
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.record_frames import FRAME
from stillflow.files.records import Cursor
from stillflow.graph import dtypes
from stillflow.graph.arrays import string_scalar
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import Dataset, dataset_op, invalid, scalar
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.queues.elements import Stacked, joined
from stillflow.platform import tf_logging

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


def _string_element(value: bytes) -> Element:
    return (string_scalar(value),)


def _string_elements(values: Sequence[bytes]) -> Sequence[Element]:
    column = np.empty(len(values), object)
    column[:] = values
    return Stacked((column,))


def _raised(error: Exception) -> Iterator[Any]:
    """Yield an iterator that raises an error, and then is over."""
    yield from ()
    raise error


class RecordFile:
    """An open file of records, which an iterator gives.

    Args:
      name: of the file.
      position: where in the (uncompressed) bytes to begin; at the first record by default.

    Attributes:
      position: where the next record begins.
    """

    def __init__(self, name: str, position: int | None) -> None:
        self.name = name
        self.position = position or 0

    def __iter__(self) -> Iterator[bytes]:
        raise NotImplementedError


class Records(Walk):
    """Walk over the records of files one after the other; an error ends the file.

    Args:
      names: of the files.
      start: opens one of them at a position.
      position_name: what the position is called where the place of a walk is written down.
      element: makes the element of a record.
      together: makes the elements of several records, or gives None where it cannot.
    """

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"index": "current_file_index"}

    def __init__(
        self, names: list[str], start: Open, position_name: str, element: Any = None,
        together: Any = None,
    ) -> None:  # fmt: skip
        self.names = names
        self.start = start
        self.position_name = position_name
        self.element: Callable[[Any], Element] = element or _string_element
        self.together: Callable[[Sequence[Any]], Sequence[Element] | None] = (
            together or _string_elements
        )
        self.index = 0
        self.file: RecordFile | None = None
        self.records: Iterator[bytes] = iter(())

    def __next__(self) -> Element:
        while True:
            for record in self.records:
                return self.element(record)
            if not self._open_next():
                raise StopIteration

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        parts: list[Sequence[Element]] = []
        try:
            while count and (self.file is not None or self._open_next()):
                elements, error = self._take_here(count)
                parts.append(elements)
                count -= len(elements)
                if error is not None:
                    return joined(parts), error
                if count and not self._open_next():
                    break
        except Exception as error:  # of the next file
            return joined(parts), error
        return joined(parts), None

    def _take_here(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        """Return elements of the open file, and the error instead of the next one."""
        assert self.file is not None
        records, places, error = [], [], None
        try:
            for record in itertools.islice(self.records, count):
                records.append(record)
                places.append(self.file.position)
        except Exception as found:
            error = found
        elements = self.together(records) if records else []
        if elements is not None:
            return elements, error
        rest = self.records if error is None else iter(())
        again = [self._again(records, places), rest if error is None else _raised(error)]
        self.records = itertools.chain(*again)
        elements, failure = super().take(len(records))
        if failure is None:
            self.records = rest
        return elements, failure or error

    def _again(self, records: Sequence[Any], places: Sequence[int]) -> Iterator[Any]:
        """Yield records that were read before, each with the place behind it."""
        for record, place in zip(records, places, strict=True):
            assert self.file is not None
            self.file.position = place
            yield record

    def _open_next(self) -> bool:
        """Open the next file; return whether there is one."""
        if self.file is not None:
            self.file = None
            self.index += 1
        if self.index < len(self.names):
            self._open(None)
        return self.file is not None

    def _open(self, position: int | None) -> None:
        self.file = self.start(self.names[self.index], position)
        self.records = iter(self.file)

    def save(self, state: State) -> None:
        super().save(state)
        if self.file is not None:
            self.put(state, self.position_name, self.file.position)

    def restore(self, state: State) -> None:
        super().restore(state)
        position = self.position(state)
        if position >= 0:
            self._open(position)

    def position(self, state: State) -> int:
        """Return the position in the open file, -1 if none was open."""
        if not self.has(state, self.position_name):
            return -1
        return self.integer(state, self.position_name)


def file_names(filenames: Any) -> list[str]:
    """Return the names in a string tensor, a scalar or vector, or raise InvalidArgumentError."""
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return [name.decode() for name in np.atleast_1d(filenames).tolist()]


Open = Callable[[str, int | None], RecordFile]


def _dataset(kind: str, filenames: Any, start: Open, position_name: str) -> Dataset:
    names = file_names(filenames)
    make = lambda *_: Records(names, start, position_name)
    return Dataset(kind, [dtypes.string], [()], make)


_COMPRESSIONS = ("", "ZLIB", "GZIP")


def _compression(value: Any) -> str:
    kind: str = scalar(value).decode()
    if kind not in _COMPRESSIONS:
        raise invalid("Unsupported compression_type.")
    return kind


def _check_buffer(size: int) -> None:
    if size < 0:
        raise invalid("`buffer_size` must be >= 0 (0 == default)")


def open_bytes(name: str, kind: str, position: int) -> Any:
    """Open a file of bytes, which may be compressed, at a position in the decompressed bytes."""
    file = open_file(name, "rb")
    if not kind:
        file.seek(position)
        return file
    opened = compression.DecompressedReader(file, kind)
    while position > 0:
        position -= len(opened.read(min(position, _SMALLEST_BUFFER))) or position
    return opened


class _TFRecordFile(RecordFile):
    """A TFRecord file."""

    def __init__(self, name: str, position: int | None, kind: str) -> None:
        super().__init__(name, position)
        self.kind = kind

    def __iter__(self) -> Iterator[bytes]:
        with open_bytes(self.name, self.kind, self.position) as file:
            for batch in Cursor(file, self.name, self.position).batches():
                for record in batch:
                    self.position += len(record) + FRAME
                    yield record


@tf_record_dataset_op.kernel
def tf_record_dataset_kernel(node: Node) -> Kernel:
    def run(filenames: Any, compression_type: Any, size: Any) -> Dataset:
        kind = scalar(compression_type).decode()
        if kind not in _COMPRESSIONS:
            tf_logging.error("Unsupported compression_type:%s. No compression will be used.", kind)
            kind = ""
        if scalar(size) < 0:
            raise invalid("`buffer_size` must be >= 0 (0 == no buffering)")
        return _dataset(
            "TFRecord", filenames, lambda name, at: _TFRecordFile(name, at, kind), "offset"
        )

    return run


def _chunks(file: Any, name: str, size: int) -> Iterator[bytes]:
    while True:
        with os_errors(name):
            chunk = file.read(size)
        if not chunk:
            return
        yield chunk


class TextFile(RecordFile):
    """The lines of a file without their ends; carriage returns go, too."""

    def __init__(self, name: str, position: int | None, kind: str, size: int) -> None:
        super().__init__(name, position)
        self.kind = kind
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        with open_bytes(self.name, self.kind, self.position) as file:
            rest = b""
            for chunk in _chunks(file, self.name, self.size):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    self.position += len(line) + 1
                    yield line.replace(b"\r", b"")
            if rest:
                self.position += len(rest)
                yield rest.replace(b"\r", b"")


@text_line_dataset_op.kernel
def text_line_dataset_kernel(node: Node) -> Kernel:
    def run(filenames: Any, compression_type: Any, size: Any) -> Dataset:
        kind = _compression(compression_type)
        _check_buffer(scalar(size))
        chunk = max(scalar(size), _SMALLEST_BUFFER)
        start = lambda name, at: TextFile(name, at, kind, chunk)
        return _dataset("TextLine", filenames, start, "current_pos")

    return run


class _FixedFile(RecordFile):
    """A file of records that all have the same size, between a header and a footer."""

    def __init__(
        self, name: str, position: int | None, kind: str, sizes: tuple[int, int, int]
    ) -> None:
        self.header, self.record, self.footer = sizes
        super().__init__(name, self.header if position is None else position)
        self.kind = kind

    def __iter__(self) -> Iterator[bytes]:
        if self.kind:
            yield from self._unpacked()
            return
        with open_bytes(self.name, "", 0) as file, os_errors(self.name):
            body = file.seek(0, 2) - self.header - self.footer
            if body % self.record:
                raise invalid(self._remainder(body))
            file.seek(self.position)
            while self.position < self.header + body:
                self.position += self.record
                yield file.read(self.record)

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the records of a compressed file, whose size shows at its end only."""
        held, skipped = b"", 0
        with open_bytes(self.name, self.kind, 0) as file:
            for chunk in _chunks(file, self.name, _SMALLEST_BUFFER):
                skipping = min(max(self.position - skipped, 0), len(chunk))
                skipped += skipping
                held += chunk[skipping:]
                start = 0
                while len(held) - start >= self.record + self.footer:
                    self.position += self.record
                    skipped += self.record
                    yield held[start : start + self.record]
                    start += self.record
                held = held[start:]
        body = skipped + len(held) - self.header - self.footer
        if body % self.record or body < 0:
            raise errors.data_loss(self._remainder(body))

    def _remainder(self, body: int) -> str:
        return (
            f"Excluding the header ({self.header} bytes) and footer ({self.footer} bytes), "
            f'input file "{self.name}" has body length {body} bytes, which is not an exact '
            f"multiple of the record length ({self.record} bytes)."
        )


def _fixed_kernel(node: Node) -> Callable[..., Any]:
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
        start = lambda name, at: _FixedFile(name, at, kind, sizes)
        return _dataset(node.op.type.replace("Dataset", ""), filenames, start, "current_pos")

    return run


fixed_length_record_dataset_op.kernel(_fixed_kernel)
fixed_length_record_dataset_v2_op.kernel(_fixed_kernel)
