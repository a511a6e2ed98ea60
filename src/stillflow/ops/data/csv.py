"""CSVDataset: the records of files of comma-separated values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from stillflow.files.failures import os_errors
from stillflow.graph import dims, dtypes
from stillflow.graph.arrays import Array, string_scalar
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.files import RecordFile, Records, file_names, open_bytes
from stillflow.ops.data.pipeline import Dataset, component_dims, dataset_op, invalid, scalar
from stillflow.ops.data.walk import Element, State
from stillflow.ops.io.parsing.csv import field_parser
from stillflow.ops.io.parsing.plain_records import PlainRecords
from stillflow.ops.queues.elements import Stacked

csv_dataset_op = dataset_op(
    """
    CSVDataset(filenames: string, compression_type: string, buffer_size: int64, header: bool,
               field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64,
               record_defaults: [output_types]) -> handle: variant
    output_types: list({float, double, int32, int64, string}) >= 1
    output_shapes: list(shape) >= 1
    flags: stateful
""",
    effect="reads files",
)


@csv_dataset_op.check
def csv_dataset_check(node: Node) -> None:
    for place in range(8, len(node.inputs)):
        found = node.dims(place)
        if node.planning and found is not None and len(found) > 1:
            raise ValueError("Each record default should be at most rank 1")
        dims.with_rank_at_most(found, 1)


Field = bytes | Exception
_CHUNK = 1 << 16
_LF, _CR, _QUOTE = b'\n\r"'


class _Incomplete(Exception):
    """More bytes are needed to say where a field ends."""


class _Fields:
    """Cutter of bytes into records and fields at one byte, outside quotes if `quotes`."""

    def __init__(self, delimiter: bytes, quotes: bool) -> None:
        self.delimiter = delimiter
        self.quotes = quotes
        edge = re.escape(delimiter)
        field = rb'(?:"[^"]*(?:""[^"]*)*"|[^"%b]*)' % edge
        self.quoted = re.compile(rb"%b(?:%b%b)*" % (field, edge, field))

    def record(self, data: bytes, start: int, last: bool) -> tuple[bytes | list[Field], int]:
        """Return the record that begins at `start`, and where the next one begins.

        Args:
          data: bytes of a file.
          start: less than their number.
          last: whether the file ends with them.

        Returns:
          A line if delimiters, and quotes around fields, are all that there is between fields, else
          the fields; and a place.

        Raises:
          _Incomplete: if the record does not end in `data`.
        """
        end = data.find(b"\n", start)
        line = data[start:end] if end >= 0 else data[start:]
        if b"\r" not in line and (end >= 0 or last) and self._is_plain(line):
            return line, end + 1 if end >= 0 else len(data)
        return self._careful(data, start, last)

    def _is_plain(self, line: bytes) -> bool:
        """Return True if quotes only enclose whole fields, where they have a meaning."""
        return not self.quotes or b'"' not in line or self.quoted.fullmatch(line) is not None

    def split(self, line: bytes) -> list[Field]:
        """Return the fields of a line that is a record."""
        if self.quotes and b'"' in line:
            return self._careful(line, 0, True)[0]
        return line.split(self.delimiter)  # type: ignore[return-value]

    def _careful(self, data: bytes, position: int, last: bool) -> tuple[list[Field], int]:
        fields: list[Field] = []
        while True:
            if position >= len(data):  # behind a delimiter
                self._more(last)
                return [*fields, b""], position
            cut = self._quoted if self.quotes and data[position] == _QUOTE else self._plain
            found, position, ended = cut(data, position, last)
            fields.append(found)
            if ended:
                return fields, position

    @staticmethod
    def _more(last: bool) -> None:
        if not last:
            raise _Incomplete

    def _after(self, data: bytes, position: int, last: bool) -> tuple[int, bool]:
        """Return the place after the field that ends at `position`; True if the record ends."""
        if position >= len(data):
            self._more(last)
            return position, True
        byte = data[position]
        if byte not in (_LF, _CR):
            return position + 1, False
        if byte == _CR:
            if position + 1 >= len(data):
                self._more(last)
            elif data[position + 1] == _LF:
                position += 1
        return position + 1, True

    def _plain(self, data: bytes, start: int, last: bool) -> tuple[Field, int, bool]:
        ends = [data.find(mark, start) for mark in (self.delimiter, b"\n", b"\r")]
        stop = min((end for end in ends if end >= 0), default=len(data))
        position, over = self._after(data, stop, last)
        field: Field = data[start:stop]
        if self.quotes and b'"' in data[start:stop]:
            field = invalid("Unquoted fields cannot have quotes inside")
        return field, position, over

    def _quoted(self, data: bytes, start: int, last: bool) -> tuple[Field, int, bool]:
        position, error = start + 1, None
        while True:
            quote = data.find(b'"', position)
            if quote < 0:
                self._more(last)
                unclosed = "Reached end of file without closing quoted field in record"
                return invalid(unclosed), len(data), True
            following = data[quote + 1 : quote + 2]
            if not following:
                self._more(last)
            if following in (b"", b"\n", b"\r", self.delimiter):
                text = data[start + 1 : quote].replace(b'""', b'"')
                return error or text, *self._after(data, quote + 1, last)
            if following != b'"':
                error = invalid("Quote inside a string has to be escaped by another quote")
            position = quote + 2


class _CsvFile(RecordFile):
    """A file of comma-separated values, which gives the fields of each record."""

    def __init__(
        self, name: str, position: int | None, kind: str, fields: _Fields, header: bool
    ) -> None:
        super().__init__(name, position)
        self.kind = kind
        self.fields = fields
        self.skips = header and position is None

    def __iter__(self) -> Iterator[Any]:
        with open_bytes(self.name, self.kind, self.position) as file:
            data, start, last, size = b"", 0, False, _CHUNK
            while True:
                try:
                    if start >= len(data):
                        if last:
                            break
                        raise _Incomplete
                    fields, end = self.fields.record(data, start, last)
                except _Incomplete:
                    with os_errors(self.name):
                        more = file.read(size)
                    data, start = data[start:] + more, 0
                    last, size = not more, max(_CHUNK, len(data))
                    continue
                self.position += end - start
                start = end
                if not self.skips:
                    yield fields
                elif any(isinstance(field, Exception) for field in fields):
                    break  # a line has none
                self.skips = False
            if self.skips:
                raise invalid("Can't read header of file")


class _Columns:
    """Conversion of fields to elements.

    `defaults` have one value, or none where a field is required; `selected` numbers the wanted
    fields, all if empty.
    """

    def __init__(
        self, types: Sequence[Any], defaults: Sequence[Any], na_value: bytes, selected: list[int],
        fields: _Fields,
    ) -> None:  # fmt: skip
        self.fields = fields
        self.plain = None
        if not selected:
            self.plain = PlainRecords(types, fields.delimiter, fields.quotes, na_value)
        self.types = types
        self.defaults = [default.reshape(-1) for default in defaults]
        self.na_value = na_value
        self.selected = selected
        self.parsers: list[Callable[[bytes], Any]] = [field_parser(dtype) for dtype in types]

    def __call__(self, record: bytes | list[Field]) -> Element:
        found = self.plain.one(record) if self.plain and isinstance(record, bytes) else None
        if found is not None:
            return tuple(found)
        fields = self.fields.split(record) if isinstance(record, bytes) else record
        values: list[Any] = []
        wanted = set(self.selected)
        for number, field in enumerate(fields):
            if isinstance(field, Exception):
                raise field
            if not wanted or number in wanted:
                values.append(self._value(len(values), field))
        if len(values) != len(self.types):
            raise invalid(f"Expect {len(self.types)} fields but have {len(values)} in record")
        return tuple(values)

    def together(self, records: Sequence[Any]) -> Sequence[Element] | None:
        """Return the elements of several records; None if they are not written plainly."""
        if self.plain is None or not all(isinstance(record, bytes) for record in records):
            return None
        columns = self.plain.columns(records)
        return None if columns is None else Stacked(columns)

    def _value(self, place: int, field: bytes) -> torch.Tensor | Array:
        if place >= len(self.types):
            raise invalid(f"Expect {len(self.types)} fields but have more in record")
        dtype = self.types[place]
        if not field or field == self.na_value:
            if len(self.defaults[place]) != 1:
                raise invalid(f"Field {place} is required but missing in record!")
            found = self.defaults[place][0]
            return string_scalar(found) if dtype == dtypes.string else found
        value = self.parsers[place](field)
        if value is None:
            text = field.decode(errors="replace")
            raise invalid(f"Field {place} in record is not a valid {cpp_name(dtype)}: {text}")
        if dtype == dtypes.string:
            return string_scalar(value)
        return torch.tensor(value, dtype=getattr(torch, dtype.torch_name))


class _CsvRecords(Records):
    """The records of files, whose place is that of a byte in a buffer of `size` bytes."""

    def __init__(self, names: list[str], start: Any, columns: _Columns, size: int) -> None:
        super().__init__(names, start, "pos", columns, columns.together)
        self.size = size

    def save(self, state: State) -> None:
        super().save(state)
        if self.file is not None:
            self.put(state, "pos", self.file.position % self.size)
            self.put(state, "num_buffer_reads", self.file.position // self.size + 1)

    def position(self, state: State) -> int:
        found = super().position(state)
        if found < 0:
            return found
        return found + (self.integer(state, "num_buffer_reads") - 1) * self.size


def _delimiter(value: Any) -> bytes:
    found: bytes = scalar(value)
    if len(found) != 1:
        raise invalid("field_delim should be only 1 char")
    return found


def _selected(columns: Any, count: int) -> list[int]:
    if len(columns.shape) != 1:
        raise invalid("`select_cols` must be a vector.")
    found: list[int] = columns.tolist()
    if found and len(found) != count:
        raise invalid("select_cols should match output size")
    if any(after <= before for before, after in pairwise(found)):
        raise invalid("select_cols should be strictly increasing indices")
    if found and found[0] < 0:
        raise invalid("select_cols should be non-negative indices")
    return found


@csv_dataset_op.kernel
def csv_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)

    def run(
        filenames: Any, compression_type: Any, buffer_size: Any, header: Any, field_delim: Any,
        use_quote_delim: Any, na_value: Any, select_cols: Any, *defaults: Any,
    ) -> Dataset:  # fmt: skip
        names = file_names(filenames)
        for place, default in enumerate(defaults):
            if len(default.shape) > 1:
                raise invalid("Each record default should be at most rank 1")
            if len(default.reshape(-1)) > 1:
                raise invalid(f"There should only be 1 default per field but field {place} has "
                              f"{len(default)}")  # fmt: skip
        size, kind = scalar(buffer_size), scalar(compression_type).decode()
        if size <= 0:
            raise invalid("buffer_size should be positive")
        delimiter, quotes = _delimiter(field_delim), scalar(use_quote_delim)
        fields = _Fields(delimiter, quotes)
        if kind not in ("", "ZLIB", "GZIP"):
            raise invalid(f"Unsupported compression_type: {kind}.")
        columns = _Columns(
            types, defaults, scalar(na_value), _selected(select_cols, len(types)), fields
        )
        skips = scalar(header)
        start = lambda name, at: _CsvFile(name, at, kind, fields, skips)
        make = lambda *_: _CsvRecords(names, start, columns, size)
        return Dataset("CSV", types, shapes, make)

    return run
