"""DecodeCSV: fields of comma-separated lines."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.parsing.columns import refuse
from stillflow.ops.io.parsing.plain_records import PlainRecords
from stillflow.ops.strings.kernels import strings_of
from stillflow.ops.strings.numbers import integer_parser, parse_float, plain_numbers

decode_csv_op = op(
    """
    DecodeCSV(records: string, record_defaults: [OUT_TYPE]) -> output: [OUT_TYPE]
    OUT_TYPE: list({float, double, int32, int64, string}) >= 1
    field_delim: string = ","
    use_quote_delim: bool = true
    na_value: string = ""
    select_cols: list(int) = []
""",
    batching="each string",
)


@decode_csv_op.shape
def decode_csv_shape(node: Node) -> OutputDims:
    for i in range(1, len(node.inputs)):
        dims = node.dims(i)
        if dims is None:
            continue
        if len(dims) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(dims)}")
        if len(dims) == 1 and dims[0] is not None and dims[0] > 1:
            raise ValueError(
                "Shape of a default must be a length-0 or length-1 vector, or a scalar."
            )
    return [node.dims(0)] * len(node.outputs)


class _Splitter:
    """Cutter of lines into the selected fields, all if empty, at one byte."""

    def __init__(self, delimiter: bytes, quotes: bool, selected: list[int]) -> None:
        self.delimiter = delimiter
        self.quotes = quotes
        self.selected = selected
        before, after = [rb"(%b|\n|%b)" % (edge, re.escape(delimiter)) for edge in (b"^", b"$")]
        field = rb'"[^"\n]*(?:""[^"\n]*)*"'
        self.quoted = re.compile(before + field + b"(?=" + after + b")")

    def __call__(self, line: bytes) -> list[bytes]:
        if b"\n" not in line and b"\r" not in line and not (self.quotes and b'"' in line):
            fields = line.split(self.delimiter) if line else []
        else:
            fields = self._careful(line)
        if not self.selected:
            return fields
        return [fields[i] for i in self.selected if i < len(fields)]

    def columns(self, lines: list[bytes]) -> list[list[bytes]] | None:
        """Return the fields of all lines by column; None if lines are not alike, or not simple."""
        text = b"\n".join(lines)
        if text.count(b"\n") >= max(len(lines), 1) or b"\r" in text or not all(lines):
            return None
        if self.quotes and b'"' in text:
            fields = self._read_quoted(text, len(lines))
        else:
            fields = self._read_plain(lines)
        if not fields:
            return None
        count = len(fields) // len(lines)
        if self.selected and self.selected[-1] >= count:
            return None
        return [fields[place::count] for place in self.selected or range(count)]

    def _read_plain(self, lines: list[bytes]) -> list[bytes] | None:
        if len(set(map(bytes.count, lines, itertools.repeat(self.delimiter)))) != 1:
            return None
        return self.delimiter.join(lines).split(self.delimiter)

    def _read_quoted(self, text: bytes, count: int) -> list[bytes] | None:
        if b'"' in self.quoted.sub(rb"\1", text):
            return None  # a quote in a field that does not begin with one, or no end of a field
        shown = text.decode("latin-1").split("\n")
        try:
            rows = list(csv.reader(shown, delimiter=self.delimiter.decode("latin-1"), strict=True))
        except (csv.Error, TypeError, ValueError):
            return None
        if len(rows) != count or len(set(map(len, rows))) != 1:
            return None
        return [field.encode("latin-1") for row in rows for field in row]

    def _careful(self, line: bytes) -> list[bytes]:
        fields: list[bytes] = []
        position, size = 0, len(line)
        ends_open = False
        while position < size:
            ends_open = False
            if line[position : position + 1] in (b"\n", b"\r"):
                position += 1
                continue
            if self.quotes and line[position : position + 1] == b'"':
                field, position = self._quoted(line, position + 1)
            else:
                field, position = self._plain(line, position)
            fields.append(field)
            ends_open = position == size and line.endswith(self.delimiter)
        return [*fields, b""] if ends_open else fields

    def _plain(self, line: bytes, start: int) -> tuple[bytes, int]:
        stop = line.find(self.delimiter, start)
        stop = len(line) if stop < 0 else stop
        field = line[start:stop]
        if (self.quotes and b'"' in field) or b"\n" in field or b"\r" in field:
            raise refuse("Unquoted fields cannot have quotes/CRLFs inside")
        return field, stop + 1

    def _quoted(self, line: bytes, start: int) -> tuple[bytes, int]:
        parts, position = [], start
        while True:
            quote = line.find(b'"', position)
            if quote < 0:
                raise refuse("Quoted field has to end with quote followed by delim or end")
            parts.append(line[position:quote])
            following = line[quote + 1 : quote + 2]
            if following == b'"':
                parts.append(b'"')
                position = quote + 2
            elif following in (b"", self.delimiter):
                return b"".join(parts), quote + 2
            else:
                raise refuse("Quote inside a string has to be escaped by another quote")


def field_parser(dtype: Any) -> Callable[[bytes], Any]:
    """Return a parser of a field's text; it gives None for text that is no such value."""
    if dtype in (dtypes.float32, dtypes.float64):
        return parse_float
    if dtype == dtypes.string:
        return lambda text: text
    bits = 31 if dtype == dtypes.int32 else 63
    return integer_parser(-(2**bits), 2**bits - 1)


class _Column:
    """Reader of one field of every line."""

    def __init__(self, place: int, dtype: Any, na_value: bytes, default: Any) -> None:
        self.place = place
        self.dtype = dtype
        self.na_value = na_value
        self.default = default.reshape(-1).tolist()
        self.parse = field_parser(dtype)

    def read(self, fields: list[bytes]) -> Array | list[Any]:
        """Return the values; an array if they are numbers that are written plainly."""
        if self.dtype != dtypes.string and self.na_value not in fields:
            numbers = plain_numbers(fields, self.dtype)
            if numbers is not None:
                return numbers
        elif b"" not in fields and self.na_value not in fields:
            return fields
        values = []
        for record, field in enumerate(fields):
            if not field or field == self.na_value:
                if not self.default:
                    raise refuse(f"Field {self.place} is required but missing in record {record}!")
                values.append(self.default[0])
                continue
            value = self.parse(field)
            if value is None:
                raise refuse(
                    f"Field {self.place} in record {record} is not a valid {cpp_name(self.dtype)}: "
                    f"{field.decode(errors='replace')}"
                )
            values.append(value)
        return values


def _check_attrs(node: Node) -> None:
    selected = node.select_cols
    if selected and len(selected) != len(node.OUT_TYPE):
        raise ValueError("select_cols should match output size")
    if any(a >= b for a, b in itertools.pairwise(selected)):
        raise ValueError("select_cols should be strictly increasing indices")
    if selected and selected[0] < 0:
        raise ValueError("select_cols should be non-negative indices")
    if len(node.field_delim) != 1:
        raise ValueError("field_delim should be only 1 char")


def _one_by_one(split: _Splitter, lines: list[bytes], count: int) -> list[Any]:
    """Return the fields of all lines by column; InvalidArgumentError if one has not `count`."""
    rows = [split(line) for line in lines]
    for i, row in enumerate(rows):
        if len(row) != count:
            raise refuse(f"Expect {count} fields but have {len(row)} in record {i}")
    return list(map(list, zip(*rows, strict=True))) if rows else [[]] * count


def _is_default(value: Any) -> bool:
    """Return True for a possible default: one number or text, or none."""
    shape = value.shape
    return not shape or (len(shape) == 1 and shape[0] <= 1)


@decode_csv_op.kernel
def decode_csv_kernel(node: Node) -> Kernel:
    _check_attrs(node)
    types = list(node.OUT_TYPE)
    split = _Splitter(node.field_delim, node.use_quote_delim, list(node.select_cols))
    na_value, bare = node.na_value, len(types) == 1
    plain = None
    if not node.select_cols:
        plain = PlainRecords(types, node.field_delim, node.use_quote_delim, na_value)

    def decode_csv(records: np.ndarray, *defaults: Any) -> list[torch.Tensor | Array]:
        lines = records.reshape(-1).tolist()
        if plain is not None and all(map(_is_default, defaults)):
            found = plain.columns(lines) if records.ndim else plain.one(lines[0])
            if found is not None:
                outputs = found if records.ndim < 2 else [x.reshape(records.shape) for x in found]
                return outputs[0] if bare else outputs
        by_field: Any = split.columns(lines)
        if by_field is None or len(by_field) != len(types):
            by_field = _one_by_one(split, lines, len(types))
        outputs = []
        for place, (fields, dtype) in enumerate(zip(by_field, types, strict=True)):
            default = defaults[place]
            if default.ndim > 1:
                raise refuse("Each record default should be at most rank 1")
            if int(np.prod(default.shape)) > 1:
                raise refuse(
                    f"There should only be 1 default per field but field {place} has "
                    f"{int(np.prod(default.shape))}"
                )
            values = _Column(place, dtype, na_value, default).read(fields)
            outputs.append(_made(values, dtype, records.shape))
        return outputs[0] if bare else outputs

    return decode_csv


def _made(values: Any, dtype: Any, shape: tuple[int, ...]) -> torch.Tensor | Array:
    if dtype == dtypes.string:
        return strings_of(values, shape)
    return torch.from_numpy(np.array(values, dtype=dtype.as_numpy_dtype).reshape(shape))


@export("io.decode_csv", "decode_csv")
def decode_csv(
    records: Any, record_defaults: Any, field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Any = None,
) -> list[Tensor]:  # fmt: skip
    """Cuts lines of comma-separated values into columns.

    Args:
      records: lines, strings of any shape.
      record_defaults: for each column the value of an empty field, a scalar or [1], or an empty
        vector if the field is required. Their types are those of the columns.
      field_delim: delimiter of fields.
      use_quote_delim: whether quotes hold fields together.
      name: of the operation.
      na_value: a text that is taken for an empty field.
      select_cols: the numbers of the columns that are wanted, in order; all if None.

    Returns:
      A tensor for each column, of the shape of `records`.

    Raises:
      ValueError: if `select_cols` are not increasing or not as many as defaults.
    """
    if select_cols is not None:
        if any(a >= b for a, b in itertools.pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    return decode_csv_op(
        records, record_defaults, field_delim=field_delim, use_quote_delim=use_quote_delim,
        na_value=na_value, select_cols=select_cols, name=name,
    )  # fmt: skip
