"""Protocol buffer messages taken apart where they lie, without a copy of the large fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow.files import varint

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class CutOff(ValueError):
    """A message ends within a field."""


def fields(data: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield the fields of a message: number, wire type and value (an int, or a memoryview).

    CutOff if the last field is not all there, ValueError if the bytes are not a message.
    """
    data = memoryview(data)
    position, limit = 0, len(data)
    while position < limit:
        tag, position = varint.decode(data, position, limit)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value: Any
            value, position = varint.decode(data, position, limit)
        elif kind in (FIXED64, FIXED32, BYTES):
            size = 8 if kind == FIXED64 else 4
            if kind == BYTES:
                size, position = varint.decode(data, position, limit)
            if size > limit - position:
                raise CutOff("a field reaches over the end of its message")
            value = data[position : position + size]
            position += size
        else:
            raise ValueError(f"wire type {kind}")
        if not number:
            raise ValueError("field number 0")
        yield number, kind, value


def is_cut_off(data: Any, kind: Any) -> bool:
    """Return True if bytes are a truncated message of a kind, with at least one field."""
    number = 0
    try:
        for number, _, _ in fields(data):
            if number not in kind.DESCRIPTOR.fields_by_number:
                return False
    except CutOff:
        return number > 0
    except ValueError:
        return False
    return False


def header(number: int, size: int) -> bytes:
    """Return the header of a string, message or packed field."""
    return varint.encode(number << 3 | BYTES) + varint.encode(size)


def field(number: int, content: bytes) -> bytes:
    """Return the bytes of a string, message or packed field; none if it is empty."""
    return header(number, len(content)) + content if content else b""
