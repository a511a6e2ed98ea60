"""Messages of protobuf as plain objects, with the methods of the protobuf library that we use."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

_MASK = 0xFFFFFFFFFFFFFFFF
# Kinds of fields with a fixed width: the format of each, and its wire type.
_FIXED = {
    "double": ("<d", 1), "fixed64": ("<Q", 1), "sfixed64": ("<q", 1),
    "float": ("<f", 5), "fixed32": ("<I", 5), "sfixed32": ("<i", 5),
}  # fmt: skip
_LENGTH = ("string", "bytes", "message", "map")
_SMALL = ("int32", "enum", "sint32")


class Field(NamedTuple):
    """A field of a message.

    Attributes:
      number, name: in the message's definition.
      kind: the type of its values, including `message` and `map`.
      repeated, packed: whether it has any number of values, and how they are written.
      present: whether a value that is the default is told from none.
      one_of: the name of the group of which only one field is set, or "".
      default: its value where it is not set.
      home: the name of the class of its values, if they are messages.
    """

    number: int
    name: str
    kind: str
    repeated: bool
    packed: bool
    present: bool
    one_of: str
    default: Any
    home: str


class Descriptor(NamedTuple):
    """Facts of a field, as the protobuf library tells them."""

    number: int
    type: int
    default_value: Any
    is_repeated: bool
    full_name: str
    packed: bool

    def GetOptions(self) -> Any:
        """Return what has the options."""
        return self


class Enum:
    """Names of numbers."""

    def __init__(self, names: Any) -> None:
        self.names = names

    def Name(self, number: int) -> Any:
        """Return the name of a number."""
        return self.names[number]

    def values(self) -> list[Any]:
        """Return the numbers."""
        return list(self.names)

    def keys(self) -> list[Any]:
        """Return the names."""
        return list(self.names.values())


class Repeated(list[Any]):
    """The values of a repeated field.

    Attributes:
      kind: the class of its messages.
    """

    kind: Any = None

    def add(self, **values: Any) -> Any:
        """Append a message."""
        made = self.kind(**values)
        self.append(made)
        return made


class Mapping(dict[Any, Any]):
    """The values of a map: one that is asked for is there afterwards."""

    kind: Any = None

    def __missing__(self, key: Any) -> Any:
        entry = self.kind()
        found = self[key] = entry.value
        return found


class Message:
    """A message: fields by name; their values are attributes."""

    by_name: Any = {}
    by_number: Any = {}

    def __init_subclass__(cls) -> None:
        """Find fields by their numbers, too."""
        cls.by_number = {field.number: field for field in cls.by_name.values()}

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(_held={}, _parent=None, _is_set=False, _unknown=b"")
        for name, value in values.items():
            if value is not None:
                self._take(name, value)

    def _take(self, name: str, value: Any) -> None:
        field = self.by_name[name]
        if field.kind == "map":
            getattr(self, name).update(value)
        elif field.repeated:
            getattr(self, name).extend(value)
        elif field.kind == "message":
            getattr(self, name).CopyFrom(value)
        else:
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("_held", {})
        if name in held:
            return held[name]
        field = self.by_name.get(name)
        if field is None:
            raise AttributeError(name)
        if not field.repeated and field.kind != "message":
            return field.default
        kind: Any = globals()[field.home] if field.home else None
        if field.repeated:
            made = held[name] = Mapping() if field.kind == "map" else Repeated()
            made.kind = kind
            return made
        made = held[name] = kind()
        made.__dict__["_parent"] = (self, field)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.by_name[name]
        if field.kind in ("float", "double"):
            value = _rounded(float(value), field.kind)
        elif field.kind == "string" and isinstance(value, bytes):
            value = value.decode()
        elif field.kind == "bool":
            value = bool(value)
        elif field.kind not in _LENGTH:
            value = int(value)
        self._only(field)
        self._held[name] = value
        self.SetInParent()

    def _only(self, field: Any) -> None:
        """Clear the other fields of a field's group."""
        for other in self.by_name.values() if field.one_of else ():
            if other.one_of == field.one_of and other.name != field.name:
                self._held.pop(other.name, None)

    def SetInParent(self) -> None:
        """Make this message one that is set."""
        self.__dict__["_is_set"] = True
        if self._parent is not None:
            owner, field = self._parent
            owner._only(field)
            owner._held[field.name] = self
            owner.SetInParent()

    def HasField(self, name: str) -> bool:
        """Return True if a field is set."""
        found = self._held.get(name)
        if isinstance(found, Message):
            return bool(found._is_set or found._has_content())
        if isinstance(found, (list, dict)):
            return bool(found)
        return name in self._held

    def _has_content(self) -> bool:
        return bool(self._unknown) or any(map(self.HasField, self._held))

    def WhichOneof(self, group: str) -> str | None:
        """Return the name of the field of a group that is set."""
        for field in self.by_name.values():
            if field.one_of == group and self.HasField(field.name):
                return str(field.name)
        return None

    def Clear(self) -> None:
        """Set no field."""
        self.__dict__.update(_held={}, _unknown=b"")

    def ClearField(self, name: str) -> None:
        """Do not set a field."""
        self._held.pop(name, None)

    def CopyFrom(self, other: Any) -> None:
        """Take the fields of another message."""
        self.ParseFromString(other.SerializeToString())

    @classmethod
    def FromString(cls, data: Any) -> Any:
        """Return the message in bytes; ValueError if they hold none."""
        made = cls()
        made.ParseFromString(data)
        return made

    # ---- from bytes

    def ParseFromString(self, data: Any) -> None:
        """Become the message in bytes; ValueError if they hold none."""
        self.Clear()
        self.MergeFromString(data)
        self.SetInParent()

    def MergeFromString(self, data: Any) -> None:
        """Add the fields in bytes."""
        data, place, unknown = bytes(data), 0, []
        while place < len(data):
            begin = place
            tag, place = _varint(data, place)
            value, place = _content(data, place, tag)
            field = self.by_number.get(tag >> 3)
            if field is None or not self._add(field, tag & 7, value):
                unknown.append(data[begin:place])
        self.__dict__["_unknown"] += b"".join(unknown)

    def _add(self, field: Any, wire: int, value: Any) -> bool:
        """Add a field's value; False if it is written in another way."""
        is_number = field.kind not in _LENGTH
        own = _FIXED[field.kind][1] if field.kind in _FIXED else 0 if is_number else 2
        if field.repeated and is_number and wire == 2:
            getattr(self, field.name).extend(_unpacked(value, field.kind))
            return True
        if wire != own:
            return False
        if field.kind == "map":
            entry = globals()[field.home].FromString(value)
            getattr(self, field.name)[entry.key] = entry.value
        elif field.kind == "message" and field.repeated:
            getattr(self, field.name).add().MergeFromString(value)
        elif field.kind == "message":
            inner = getattr(self, field.name)
            inner.MergeFromString(value)
            inner.SetInParent()
        elif field.repeated:
            getattr(self, field.name).append(_meaning(value, field.kind))
        else:
            self._only(field)
            self._held[field.name] = _meaning(value, field.kind)
        return True

    # ---- to bytes

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """Return the message as bytes: fields by their numbers, maps by their keys."""
        parts = []
        for number in sorted(self.by_number):
            field = self.by_number[number]
            if self.HasField(field.name):
                parts.append(_written(field, self._held[field.name]))
        return b"".join(parts) + self._unknown


def _rounded(value: float, kind: str) -> float:
    if kind == "double":
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    result = shift = 0
    for at in range(place, min(place + 10, len(data))):
        result |= (data[at] & 0x7F) << shift
        if data[at] < 0x80:
            return result & _MASK, at + 1
        shift += 7
    raise ValueError("Error parsing message: a number does not end")


def _content(data: bytes, place: int, tag: int) -> tuple[Any, int]:
    """Return the content of a field, an integer or bytes, and the place behind it."""
    wire = tag & 7
    if not tag >> 3 or wire not in (0, 1, 2, 5):
        raise ValueError("Error parsing message: a tag is none")
    if wire == 0:
        return _varint(data, place)
    size = 8 if wire == 1 else 4
    if wire == 2:
        size, place = _varint(data, place)
    if size > len(data) - place:
        raise ValueError("Error parsing message: a field does not end")
    return data[place : place + size], place + size


def _unpacked(data: bytes, kind: str) -> list[Any]:
    if kind in _FIXED:
        form = _FIXED[kind][0]
        if len(data) % struct.calcsize(form):
            raise ValueError("Error parsing message: a number does not end")
        return [each for (each,) in struct.iter_unpack(form, data)]
    values, place = [], 0
    while place < len(data):
        number, place = _varint(data, place)
        values.append(_meaning(number, kind))
    return values


def _meaning(value: Any, kind: str) -> Any:
    """Return the value of a field from its content."""
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind][0], value)[0]
    if kind == "string":
        return value.decode()
    if kind == "bytes":
        return value
    if kind == "bool":
        return bool(value)
    if kind in ("uint32", "uint64"):
        return value & 0xFFFFFFFF if kind == "uint32" else value
    bits = 32 if kind in _SMALL else 64
    value &= (1 << bits) - 1
    if kind in ("sint32", "sint64"):
        return (value >> 1) ^ -(value & 1)
    return value - (1 << bits) if value >> (bits - 1) else value


def _number(value: Any, kind: str) -> bytes:
    if kind in _FIXED:
        return struct.pack(_FIXED[kind][0], value)
    if kind in ("sint32", "sint64"):
        value = value << 1 ^ value >> 63
    return in_sevens(int(value) & _MASK)


def in_sevens(value: int) -> bytes:
    """Return a number in seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _with_size(number: int, data: bytes) -> bytes:
    return in_sevens(number << 3 | 2) + in_sevens(len(data)) + data


def _written(field: Any, value: Any) -> bytes:
    """Return a field that is set as bytes; those of one without presence may be none."""
    number, kind = field.number, field.kind
    if kind == "map":
        entries = [globals()[field.home](key=key, value=value[key]) for key in sorted(value)]
        return b"".join(_with_size(number, each.SerializeToString()) for each in entries)
    if kind in _LENGTH:
        items = value if field.repeated else [value]
        if not (field.repeated or field.present or isinstance(value, Message) or value):
            return b""
        return b"".join(_with_size(number, _raw(each)) for each in items)
    if field.packed:
        return _with_size(number, b"".join(_number(each, kind) for each in value))
    tag = in_sevens(number << 3 | (_FIXED[kind][1] if kind in _FIXED else 0))
    if field.repeated:
        return b"".join(tag + _number(each, kind) for each in value)
    content = _number(value, kind)
    return tag + content if field.present or any(content) else b""


def _raw(value: Any) -> bytes:
    if isinstance(value, Message):
        return value.SerializeToString()
    return value.encode() if isinstance(value, str) else bytes(value)
