"""Entries of lookup tables from the lines of a text file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.graph.dtypes import DType
from stillflow.ops.lookup.tables import StaticTable, invalid
from stillflow.platform import tf_logging as logging

WHOLE_LINE, LINE_NUMBER = -2, -1


class Columns(NamedTuple):
    """Columns of a line's key and value: an index, WHOLE_LINE or LINE_NUMBER."""

    key: int
    value: int
    delimiter: bytes


def _limited(bits: int) -> Callable[[bytes], int]:
    def parse(token: bytes) -> int:
        value = int(token)
        if b"_" in token or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise ValueError
        return value

    return parse


def _double(token: bytes) -> float:
    if b"_" in token:
        raise ValueError
    return float(token)


def _single(token: bytes) -> float:
    value: float = struct.unpack("f", struct.pack("f", _double(token)))[0]
    return value


_PARSERS: dict[str, tuple[Callable[[bytes], Any], str]] = {
    "int32": (_limited(32), "int32"),
    "int64": (_limited(64), "int64"),
    "float32": (_single, "float"),
    "float64": (_double, "double"),
}


def _getter(index: int, dtype: DType) -> Callable[[bytes, list[bytes], int], Any]:
    """Return the function that gets a key or value from a line, its columns and its number."""
    if index == LINE_NUMBER:
        return lambda line, tokens, number: number

    def token_of(line: bytes, tokens: list[bytes]) -> bytes:
        return line if index == WHOLE_LINE else tokens[index]

    if dtype.name == "string":
        return lambda line, tokens, number: token_of(line, tokens)
    if dtype.name not in _PARSERS:
        raise invalid(f"Data type {dtype.name} not supported.")
    parse, word = _PARSERS[dtype.name]

    def number_of(line: bytes, tokens: list[bytes], number: int) -> float | int:
        token = token_of(line, tokens)
        try:
            return parse(token)
        except (ValueError, OverflowError):
            text = token.decode("utf-8", "replace")
            raise invalid(f"Field {text} in line {number} is not a valid {word}.") from None

    return number_of


def check_columns(columns: Columns, key: DType, value: DType) -> None:
    """Raise an error for types that do not fit the columns."""
    if columns.key == LINE_NUMBER and key.name != "int64":
        raise invalid(
            f"Key index for line number requires table key dtype of int64, got {key.name}"
        )
    if columns.key == WHOLE_LINE and not key.is_integer and key.name != "string":
        raise invalid(
            f"Key index for whole line requires string or integer table key, got {key.name}"
        )
    if columns.value == LINE_NUMBER and value.name != "int64":
        raise invalid(
            f"Value index for line number requires table value dtype of int64, got {value.name}"
        )
    if columns.value == WHOLE_LINE and value.name != "string":
        raise invalid(
            f"Value index for whole line requires table value dtype of string, got {value.name}"
        )


def _split(line: bytes, columns: Columns, path: str, number: int) -> list[bytes]:
    last = max(columns.key, columns.value)
    if last < 0:
        return []
    tokens = line.split(columns.delimiter)
    if last >= len(tokens):
        raise invalid(
            f"Invalid number of columns in {path} line {number} "
            f"({line.decode('utf-8', 'replace')}) : expected {last} got {len(tokens)}"
        )
    return tokens


def _lines(path: str, vocab_size: int) -> Iterator[bytes]:
    """Yield the lines of a file, without their ends; as many as the vocabulary has."""
    number = position = 0
    with open_file(path) as file, os_errors(path):
        for line in file:
            if number == vocab_size:
                logging.warning("Truncated %s before its end at %d records.", path, vocab_size)
                return
            position += len(line)
            line = line.rstrip(b"\n").replace(b"\r", b"")
            if not line:
                raise invalid(
                    f"Invalid content in {path}: empty line found at position {position}."
                )
            yield line
            number += 1
    if vocab_size not in (-1, number):
        raise invalid(f"Invalid vocab_size in {path}: expected {vocab_size} but got {number}")


def fill_from_file(table: StaticTable, path: str, vocab_size: int, columns: Columns) -> None:
    """Fill a table from a file, unless it is filled already; errors say what does not fit.

    They are InvalidArgumentError, and NotFoundError without a file.
    """
    check_columns(columns, table.key_dtype, table.value_dtype)
    key_of = _getter(columns.key, table.key_dtype)
    value_of = _getter(columns.value, table.value_dtype)
    pairs = []
    for number, line in enumerate(_lines(path, vocab_size)):
        tokens = _split(line, columns, path, number)
        pairs.append((key_of(line, tokens, number), value_of(line, tokens, number)))
    if not pairs:
        raise errors.out_of_range("EOF reached")
    if not table.filled:
        table.fill(pairs, len(pairs))
