"""Flex buffers: values that say themselves what they are; here, maps of numbers by name."""

from __future__ import annotations

import struct
from typing import Any

_NULL, _INT, _UINT, _FLOAT, _MAP, _BOOL = 0, 1, 2, 3, 9, 26
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_WIDTH, _WIDTH_BITS = 4, 2  # of everything that is written
_FORMATS = {_INT: "bhiq", _UINT: "BHIQ", _BOOL: "BHIQ", _FLOAT: " efd"}


def read_map(data: bytes) -> dict[str, Any]:
    """Returns the numbers of a map, by name; other values are left out.

    Args:
      data: the flex buffer; the map is its root.

    Raises:
      ValueError: If it is no map, or damaged.
    """
    try:
        width, packed = data[-1], data[-2]
        place = len(data) - 2 - width
        if packed >> 2 != _MAP:
            raise ValueError("The options of a custom operator are no map")
        place -= _number(data, place, width, _UINT)
        return _numbers(data, place, 1 << (packed & 3))
    except (IndexError, KeyError, struct.error):
        raise ValueError("The options of a custom operator are damaged") from None


def _numbers(data: bytes, place: int, width: int) -> dict[str, Any]:
    size = _number(data, place - width, width, _UINT)
    key_width = _number(data, place - 2 * width, width, _UINT)
    keys = place - 3 * width - _number(data, place - 3 * width, width, _UINT)
    found: dict[str, Any] = {}
    for i in range(size):
        key = keys + i * key_width
        name = _text(data, key - _number(data, key, key_width, _UINT))
        packed = data[place + size * width + i]
        kind, at, wide = packed >> 2, place + i * width, width
        if kind in _INDIRECT:
            at -= _number(data, at, width, _UINT)
            kind, wide = _INDIRECT[kind], 1 << (packed & 3)
        if kind in _FORMATS:
            value = _number(data, at, wide, kind)
            found[name] = bool(value) if kind == _BOOL else value
        elif kind == _NULL:
            found[name] = None
    return found


def _number(data: bytes, place: int, width: int, kind: int) -> Any:
    if place < 0:
        raise IndexError(place)
    letter = _FORMATS[kind][{1: 0, 2: 1, 4: 2, 8: 3}[width]]
    return struct.unpack_from(f"<{letter}", data, place)[0]


def _text(data: bytes, place: int) -> str:
    if place < 0:
        raise IndexError(place)
    return data[place : data.index(b"\0", place)].decode("utf-8", "replace")


def write_map(values: dict[str, Any]) -> bytes:
    """Returns a map of numbers as a flex buffer.

    Args:
      values: whole numbers of 32 bits, reals in single precision, and truth values, by name.
    """
    data, keys = bytearray(), []
    names = sorted(values)  # readers look for names by bisection
    for name in names:
        keys.append(len(data))
        data += name.encode() + b"\0"
    data += bytes(-len(data) % _WIDTH)
    data += struct.pack("<I", len(names))
    vector = len(data)
    for key in keys:
        data += struct.pack("<I", len(data) - key)
    data += struct.pack("<3I", len(data) - vector, _WIDTH, len(names))
    place, kinds = len(data), []
    for name in names:
        kind = {bool: _BOOL, int: _INT, float: _FLOAT}[type(values[name])]
        data += struct.pack("<" + _FORMATS[kind][_WIDTH_BITS], values[name])
        kinds.append(kind << 2 | _WIDTH_BITS)
    data += bytes(kinds)
    data += bytes(-len(data) % _WIDTH)
    return bytes(data + struct.pack("<IBB", len(data) - place, _MAP << 2 | _WIDTH_BITS, _WIDTH))
