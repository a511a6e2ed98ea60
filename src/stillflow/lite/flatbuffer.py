"""Flat buffers: tables of named fields as bytes, read and written by a schema.

A schema is text, one table a line: `Buffer: data [ubyte]`. A field has a type and perhaps a
default; a type is a scalar, `string`, the name of a table, a union in bars (`|BuiltinOptions|`,
which takes two slots), or one of these in brackets for a vector. Nothing in a file is trusted:
every offset and length is held against its end before it is followed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

_SCALARS = {
    "bool": np.dtype("?"),
    "byte": np.dtype("i1"),
    "ubyte": np.dtype("u1"),
    "int": np.dtype("<i4"),
    "uint": np.dtype("<u4"),
    "long": np.dtype("<i8"),
    "float": np.dtype("<f4"),
}
_DATA_ALIGNMENT = 16  # of vectors of bytes, so that their contents can be used in place


class Field(NamedTuple):
    """Field of a table: the place of its offset in the table's index, and its type."""

    slot: int
    name: str
    type: str
    default: Any


class Schema:
    """The tables of a format.

    Args:
      text: the tables, one a line.
      unions: of each union the names of its tables; the first is number 1.
    """

    def __init__(self, text: str, unions: Mapping[str, Sequence[str]]) -> None:
        self.unions = {name: ["", *tables] for name, tables in unions.items()}
        self.tables = dict(_parse_table(line) for line in text.strip().splitlines())


def _parse_table(line: str) -> tuple[str, list[Field]]:
    name, _, body = line.partition(":")
    fields, slot = [], 0
    for part in filter(None, (part.strip() for part in body.split(","))):
        field, kind, *default = part.replace("=", " ").split()
        if kind.startswith("|"):
            slot += 1  # the first of a union's two slots tells which table it is
        fields.append(Field(slot, field, kind, _default(kind, *default)))
        slot += 1
    return name.strip(), fields


def _default(kind: str, text: str = "0") -> float | None:
    if kind in _SCALARS:
        return _SCALARS[kind].type(float(text)).item()
    return None


class Table:
    """A table of a flat buffer: its fields as attributes, absent ones at their defaults."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, schema: Schema, table_kind: str, **fields: Any) -> None:
        self.__dict__.update({field.name: field.default for field in schema.tables[table_kind]})
        unknown = fields.keys() - self.__dict__.keys()
        if unknown:
            raise AttributeError(f"{table_kind} has no field {sorted(unknown)}")
        self.__dict__.update(fields)
        self.table_kind = table_kind

    def __repr__(self) -> str:
        return f"Table({self.__dict__})"


class _Reader:
    def __init__(self, schema: Schema, data: bytes) -> None:
        self.schema, self.data = schema, memoryview(data)
        self.tables_left = len(data)  # more can only come from many offsets to the same ones

    def unpack(self, layout: str, position: int) -> int:
        if not 0 <= position <= len(self.data) - struct.calcsize(layout):
            raise ValueError("The model is damaged: an offset leads outside of it.")
        return struct.unpack_from(layout, self.data, position)[0]

    def follow(self, position: int) -> int:
        return position + self.unpack("<I", position)

    def table(self, kind: str, position: int) -> Table:
        self.tables_left -= 1
        if self.tables_left < 0:
            raise ValueError("The model is damaged: many offsets lead to the same tables.")
        index = position - self.unpack("<i", position)
        slots = (self.unpack("<H", index) - 4) // 2
        found = Table(self.schema, kind)
        for field in self.schema.tables[kind]:
            offset = self.unpack("<H", index + 4 + 2 * field.slot) if field.slot < slots else 0
            if not offset:
                continue
            of = field.type
            if of.startswith("|"):
                before = self.unpack("<H", index + 2 + 2 * field.slot)
                tables = self.schema.unions[of.strip("|")]
                number = self.unpack("<B", position + before) if before else 0
                if not 0 < number < len(tables):
                    continue  # none, or one of a later version
                of = tables[number]
            setattr(found, field.name, self.value(of, position + offset))
        return found

    def value(self, kind: str, position: int) -> Any:
        if kind in _SCALARS:
            return self.numbers(kind, position, 1)[0].item()
        start = self.follow(position)
        if kind == "string":
            text = self.numbers("ubyte", start + 4, self.unpack("<I", start))
            return text.tobytes().decode("utf-8", "replace")
        if not kind.startswith("["):
            return self.table(kind, start)
        element, length = kind.strip("[]"), self.unpack("<I", start)
        if element == "ubyte":
            return self.numbers(element, start + 4, length)
        if element in _SCALARS:
            return self.numbers(element, start + 4, length).tolist()
        self.numbers("uint", start + 4, length)
        return [self.value(element, start + 4 + 4 * i) for i in range(length)]

    def numbers(self, kind: str, position: int, count: int) -> np.ndarray[Any, Any]:
        dtype = _SCALARS[kind]
        if not 0 <= position <= len(self.data) - count * dtype.itemsize:
            raise ValueError("The model is damaged: it ends inside a vector.")
        return np.frombuffer(self.data, dtype, count, position)


def read(schema: Schema, kind: str, data: bytes) -> Table:
    """Return the root table of a flat buffer, read whole; vectors of bytes are views into `data`.

    `kind` is that of the root. ValueError if an offset or a length leads outside.
    """
    reader = _Reader(schema, data)
    return reader.table(kind, reader.follow(0))


class _Writer:
    """Writer of a table, then of its objects: offsets lead forward, as the format requires."""

    def __init__(self, schema: Schema, head: bytes) -> None:
        self.schema, self.data = schema, bytearray(head)
        self.indices: dict[bytes, int] = {}

    def align(self, to: int, ahead: int = 0) -> None:
        """Pad so that the data after `ahead` more bytes is aligned."""
        self.data.extend(bytes(-(len(self.data) + ahead) % to))

    def point(self, position: int) -> None:
        struct.pack_into("<I", self.data, position, len(self.data) - position)

    def table(self, table: Table, referrer: int) -> None:
        slots: dict[int, tuple[str, Any]] = {}
        for field in self.schema.tables[table.table_kind]:
            value = getattr(table, field.name)
            if value is None or (field.type in _SCALARS and value == field.default):
                continue
            kind = field.type
            if kind.startswith("|"):
                number = self.schema.unions[kind.strip("|")].index(value.table_kind)
                slots[field.slot - 1] = ("ubyte", number)
                kind = value.table_kind
            slots[field.slot] = (kind, value)
        # Wide fields first: each is then aligned where the one before it ends.
        order = sorted(slots, key=lambda slot: (-_width(slots[slot][0]), slot))
        offsets, size = dict.fromkeys(range(max(slots, default=-1) + 1), 0), 4
        wide = 8 if any(_width(kind) == 8 for kind, _ in slots.values()) else 4
        for slot in order:
            width = _width(slots[slot][0])
            size += -size % width
            offsets[slot] = size
            size += width
        index = struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), size, *offsets.values())
        if index not in self.indices:
            self.align(2)
            self.indices[index] = len(self.data)
            self.data += index
        self.align(wide)
        start = len(self.data)
        self.point(referrer)
        self.data += struct.pack("<i", start - self.indices[index]) + bytes(size - 4)
        for slot in order:
            self.value(*slots[slot], start + offsets[slot])

    def value(self, kind: str, value: Any, position: int) -> None:
        if kind in _SCALARS:
            scalar = np.asarray(value, _SCALARS[kind]).tobytes()
            self.data[position : position + len(scalar)] = scalar
        elif kind == "string":
            text = value.encode()
            self.vector(position, len(text), text + b"\0", 4)
        elif not kind.startswith("["):
            self.table(value, position)
        elif (element := kind.strip("[]")) in _SCALARS:
            value = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
            numbers = np.asarray(value, _SCALARS[element])
            alignment = _DATA_ALIGNMENT if element == "ubyte" else max(4, _width(element))
            self.vector(position, numbers.size, numbers.tobytes(), alignment)
        else:
            start = self.vector(position, len(value), bytes(4 * len(value)), 4)
            for i, item in enumerate(value):
                self.value(element, item, start + 4 * i)

    def vector(self, referrer: int, length: int, content: bytes, alignment: int) -> int:
        self.align(4)
        self.align(alignment, 4)
        self.point(referrer)
        self.data += struct.pack("<I", length)
        start = len(self.data)
        self.data += content
        return start


def _width(kind: str) -> int:
    return _SCALARS[kind].itemsize if kind in _SCALARS else 4


def write(schema: Schema, root: Table, identifier: bytes) -> bytes:
    """Return a table and all that it holds as a flat buffer of a format, told by four bytes."""
    writer = _Writer(schema, bytes(4) + identifier)
    writer.align(8)
    writer.table(root, 0)
    return bytes(writer.data)
