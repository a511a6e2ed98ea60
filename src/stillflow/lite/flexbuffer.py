"""Flex buffers, a format of typed values: here maps of numbers, strings and lists by name."""

from __future__ import annotations

import struct
from typing import Any

_NULL, _INT, _UINT, _FLOAT, _STRING, _MAP, _BOOL = 0, 1, 2, 3, 5, 9, 26
_INTS, _FLOATS = 11, 13  # vectors whose elements have one type
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_VECTORS = {_INTS: _INT, 12: _UINT, _FLOATS: _FLOAT, 36: _BOOL}
_FORMATS = {_INT: "bhiq", _UINT: "BHIQ", _BOOL: "BHIQ", _FLOAT: " efd"}


def read_map(data: bytes) -> dict[str, Any]:
    """Return the numbers, strings and lists of numbers of a map, by name; no other values.

    The map is the root of a flex buffer; ValueError if it is none, or damaged.
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
        elif kind == _STRING or kind in _VECTORS:
            at -= _number(data, at, width, _UINT)
            found[name] = _sequence(data, at, 1 << (packed & 3), kind)
        elif kind == _NULL:
            found[name] = None
    return found


def _sequence(data: bytes, place: int, width: int, kind: int) -> bytes | list[Any]:
    """Return a string as bytes, or a list of numbers; its size stands before it."""
    size = _number(data, place - width, width, _UINT)
    if place + size * (1 if kind == _STRING else width) > len(data):
        raise IndexError(place)
    if kind == _STRING:
        return bytes(data[place : place + size])
    element = _VECTORS[kind]
    values = [_number(data, place + i * width, width, element) for i in range(size)]
    return [bool(value) for value in values] if element == _BOOL else values


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
    """Return a map of numbers, strings and lists of numbers as a flex buffer.

    Numbers are whole ones of at most 64 bits, reals in single precision, and truth values; strings
    are bytes.
    """
    return _Writer(values).content()


class _Writer:
    """Writer of one map, with one width for all its numbers."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.data = bytearray()
        self.values = values
        whole = [
            number
            for value in values.values()
            for number in (value if isinstance(value, list) else [value])
            if isinstance(number, int)
        ]
        fits = all(-(2**31) <= number < 2**31 for number in whole)
        self.width, self.bits = (4, 2) if fits else (8, 3)

    def content(self) -> bytes:
        names = sorted(self.values)  # readers look for names by bisection
        keys = []
        for name in names:
            keys.append(len(self.data))
            self.data += name.encode() + b"\0"
        self._align()
        places = {name: self._sequence(self.values[name]) for name in names}
        self._align()
        self._numbers(_UINT, len(names))
        vector = len(self.data)
        for key in keys:
            self._numbers(_UINT, len(self.data) - key)
        self._numbers(_UINT, len(self.data) - vector, self.width, len(names))
        place = len(self.data)
        for name in names:
            kind, value = _kind(self.values[name]), self.values[name]
            start = places[name]
            if start is None:
                self._numbers(kind, value)
            else:
                self._numbers(_UINT, len(self.data) - start)
        self.data += bytes(_kind(self.values[name]) << 2 | self.bits for name in names)
        self._align()
        self._numbers(_UINT, len(self.data) - place)
        return bytes(self.data + struct.pack("<BB", _MAP << 2 | self.bits, self.width))

    def _align(self) -> None:
        self.data += bytes(-len(self.data) % self.width)

    def _numbers(self, kind: int, *numbers: Any) -> None:
        letter = _FORMATS[kind][self.bits]
        self.data += struct.pack(f"<{len(numbers)}{letter}", *numbers)

    def _sequence(self, value: Any) -> int | None:
        """Write a string or list; return its place, None for a number."""
        if not isinstance(value, (bytes, list)):
            return None
        self._align()
        self._numbers(_UINT, len(value))
        place = len(self.data)
        if isinstance(value, bytes):
            self.data += value + b"\0"
        else:
            self._numbers(_VECTORS[_kind(value)], *value)
        return place


def _kind(value: Any) -> int:
    if isinstance(value, list):
        return _FLOATS if any(isinstance(number, float) for number in value) else _INTS
    return {bool: _BOOL, int: _INT, float: _FLOAT, bytes: _STRING}[type(value)]
