"""Fields of serialized messages as values: the type alone determines a field's content."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors

# Wire types, by their numbers.
VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
_DEEPEST = 100  # groups within groups
_LAST_BYTE = 10  # of a varint
_INT32, _UINT32 = 5, 13  # kinds of fields

WIRE_TYPES = {
    1: FIXED64, 2: FIXED32, 3: VARINT, 4: VARINT, 5: VARINT, 6: FIXED64, 7: FIXED32, 8: VARINT,
    9: LENGTH, 10: START, 11: LENGTH, 12: LENGTH, 13: VARINT, 14: VARINT, 15: FIXED32,
    16: FIXED64, 17: VARINT, 18: VARINT,
}  # fmt: skip
# Formats of fixed-width fields, by the number of the field's type.
_FIXED = {1: "<d", 2: "<f", 6: "<Q", 7: "<I", 15: "<i", 16: "<q"}


class Damaged(Exception):
    """The bytes end within a value, or are no message."""


def data_loss(message: str) -> errors.DataLossError:
    """Return the error for bytes that are no message."""
    return errors.data_loss(message)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, modulo 2 ** 64, and the place after it."""
    result = shift = 0
    for place in range(at, min(at + _LAST_BYTE, len(data))):
        byte = data[place]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, place + 1
        shift += 7
    raise Damaged


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _zigzag(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return (value >> 1) ^ -(value & 1)


# Meanings of a varint, by the number of the field's type.
_MEANINGS: dict[int, Callable[[int], Any]] = {
    3: lambda value: _signed(value, 64),
    4: lambda value: value,
    5: lambda value: _signed(value, 32),
    8: lambda value: value != 0,
    13: lambda value: value & 0xFFFFFFFF,
    14: lambda value: _signed(value, 32),
    17: lambda value: _zigzag(value, 32),
    18: lambda value: _zigzag(value, 64),
}


def _skip(data: bytes, at: int, tag: int, depth: int = 0) -> int:
    """Return the place after a field whose tag was read."""
    wire_type = tag & 7
    if tag >> 3 == 0 or depth > _DEEPEST:
        raise Damaged
    if wire_type == VARINT:
        return varint(data, at)[1]
    if wire_type == LENGTH:
        length, at = varint(data, at)
        return _within(data, at + length)
    if wire_type in (FIXED32, FIXED64):
        return _within(data, at + (4 if wire_type == FIXED32 else 8))
    if wire_type != START:
        raise Damaged
    while True:
        inner, at = varint(data, at)
        if inner & 7 == END:
            if inner >> 3 != tag >> 3:
                raise Damaged
            return at
        at = _skip(data, at, inner, depth + 1)


def _within(data: bytes, at: int) -> int:
    if at > len(data):
        raise Damaged
    return at


class Wanted(NamedTuple):
    """A field whose values are asked for."""

    number: int
    kind: int  # the number of its type
    is_repeated: bool
    is_wide: bool  # whether its tensor has more bits than the field


class Found:
    """Occurrences of a field in one message."""

    def __init__(self) -> None:
        self.count = 0
        self.values: list[Any] = []
        self.packed_at: list[int] = []  # how many values stood before each packed run of them

    def add(self, field: Wanted, value: Any) -> None:
        """Add a value; that of a field that is not repeated takes the place of the one before."""
        self.count = self.count + 1 if field.is_repeated else 1
        if not field.is_repeated:
            self.values.clear()
        self.values.append(value)

    def add_packed(self, field: Wanted, values: list[Any]) -> None:
        """Add packed values; of a field that is not repeated they count, and are not kept."""
        self.packed_at.append(len(self.values))
        if field.is_repeated:
            self.count += len(values)
            self.values += values
        elif values:
            self.count = 1


class _Places:
    """Look-up of requested fields by number, in TensorFlow's order.

    It expects numbers in order, and remembers the last one that it found; once they were out of
    order it forgets to do so, and may then take a number for another field.
    """

    def __init__(self, fields: Sequence[Wanted]) -> None:
        self._numbers = [field.number for field in fields]
        self._index, self._found, self._before = -1, -1, -1
        self._is_disordered = False

    def of(self, number: int) -> int | None:
        """Return the place of a field; None if it is not asked for."""
        before, self._before = self._before, number
        if number == self._found:
            return self._index
        self._is_disordered |= number < before
        if self._is_disordered:
            if number not in self._numbers:
                return None
            self._index = len(self._numbers) - 1 - self._numbers[::-1].index(number)
            return self._index
        place = None
        while self._index + 1 < len(self._numbers) and number >= self._numbers[self._index + 1]:
            self._index += 1
            if number == self._numbers[self._index]:
                self._found, place = number, self._index
        return place


def _value(data: bytes, at: int, begin: int, tag: int, kind: int) -> tuple[Any, int]:
    """Return a value that is not packed, and the place after it.

    `begin` is where its tag stands.
    """
    if kind in _FIXED:
        form = struct.Struct(_FIXED[kind])
        end = _within(data, at + form.size)
        return form.unpack_from(data, at)[0], end
    if kind in _MEANINGS:
        number, end = varint(data, at)
        return _MEANINGS[kind](number), end
    end = _skip(data, at, tag)
    if WIRE_TYPES[kind] == START:
        return data[begin:end], end  # a group, with its ends
    length, first = varint(data, at)
    return data[first : first + length], end


def _packed(chunk: bytes, field: Wanted) -> list[Any]:
    """Return the values that stand one after the other."""
    kind = field.kind
    if kind in _FIXED:
        if len(chunk) % struct.calcsize(_FIXED[kind]):
            raise data_loss(f"Illegal data length for packed fixed-size type: {len(chunk)}")
        return np.frombuffer(chunk, _FIXED[kind]).tolist()
    meaning = _MEANINGS[kind]
    if kind == _INT32 and field.is_wide:
        meaning = _MEANINGS[_UINT32]  # as TensorFlow: without a sign
    values, at = [], 0
    while at < len(chunk):
        try:
            number, at = varint(chunk, at)
        except Damaged:
            raise data_loss("Corrupt packed varint") from None
        values.append(meaning(number))
    return values


def field_values(data: bytes, fields: Sequence[Wanted]) -> list[Found]:
    """Return a message's values for fields in the order of numbers; DataLossError if damaged."""
    found, places = [Found() for _ in fields], _Places(fields)
    at = 0
    while at < len(data):
        begin = at
        try:
            tag, at = varint(data, at)
        except Damaged:
            tag = 0
        if tag == 0 or tag & 7 == END:
            raise data_loss("CountFields: Failed to consume entire buffer")
        place = places.of(tag >> 3)
        if place is None:
            at = _skipped(data, at, tag, "Failed skipping unrequested field")
        else:
            at = _read(data, at, begin, tag, fields[place], found[place])
    return found


def _read(data: bytes, at: int, begin: int, tag: int, field: Wanted, found: Found) -> int:
    """Add the values of a field, unless they are not of its type; the place after them."""
    given, declared = tag & 7, WIRE_TYPES[field.kind]
    if given == LENGTH and declared != LENGTH:
        try:
            length, at = varint(data, at)
        except Damaged:
            raise data_loss("CollectField: Failed reading packed size") from None
        if at + length > len(data):
            raise data_loss("ReadPackedValues: Skipping packed field failed")
        if length and declared == START:
            raise data_loss("TYPE_GROUP encountered as packed")
        found.add_packed(field, _packed(data[at : at + length], field))
        return at + length
    if given != declared:
        return _skipped(data, at, tag, "CollectField: Failed skipping malformed field")
    try:
        value, at = _value(data, at, begin, tag, field.kind)
    except Damaged:
        raise data_loss("ReadValue: Failed skipping field when counting") from None
    found.add(field, value)
    return at


def _skipped(data: bytes, at: int, tag: int, complaint: str) -> int:
    try:
        return _skip(data, at, tag)
    except Damaged:
        raise data_loss(complaint) from None
