"""Values as fields of serialized messages."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from stillflow.files import varint
from stillflow.ops.io.protos.reading import END, LENGTH, START, WIRE_TYPES

_FIXED = {1: "<d", 2: "<f", 6: "<Q", 7: "<I", 15: "<i", 16: "<q"}
_ALL_BITS = (1 << 64) - 1
_BITS = {7: 32, 15: 32, 5: 32, 13: 32, 14: 32, 17: 32}


def _narrow(value: int, kind: int) -> int:
    """Return a whole number as the field has it: without the bits that do not fit."""
    bits = _BITS.get(kind, 64)
    value &= (1 << bits) - 1
    if kind not in (4, 6, 7, 13) and value >> (bits - 1):
        value -= 1 << bits
    return value


def _number(value: Any, kind: int) -> bytes:
    if kind in (1, 2):
        return struct.pack(_FIXED[kind], value)
    if kind == 8:
        return varint.encode(int(bool(value)))
    whole = _narrow(int(value), kind)
    if kind in _FIXED:
        return struct.pack(_FIXED[kind], whole)
    if kind in (17, 18):
        whole = whole << 1 ^ whole >> 63
    return varint.encode(whole & _ALL_BITS)


def field_bytes(field: Any, values: Sequence[Any]) -> bytes:
    """Return a field with its tags; `values` are bytes or numbers, and not empty."""

    def tag(wire_type: int) -> bytes:
        return varint.encode(field.number << 3 | wire_type)

    kind, wire_type = field.type, WIRE_TYPES[field.type]
    if wire_type == LENGTH:
        return b"".join(tag(LENGTH) + varint.encode(len(each)) + each for each in values)
    if wire_type == START:
        return b"".join(tag(START) + each + tag(END) for each in values)
    numbers = [_number(each, kind) for each in values]
    if field.GetOptions().packed:
        joined = b"".join(numbers)
        return tag(LENGTH) + varint.encode(len(joined)) + joined
    return b"".join(tag(wire_type) + number for number in numbers)
