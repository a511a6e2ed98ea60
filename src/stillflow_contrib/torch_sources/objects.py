"""Objects of libraries and of sessions as expressions: messages of protobuf, and their classes."""

from __future__ import annotations

import base64
import collections
import operator
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message as LibraryMessage

from stillflow.ops.control_flow.mutex import Mutex
from stillflow.ops.lookup.tables import Table
from stillflow.protos import Summary
from stillflow_contrib.torch_sources.messages import Descriptor, Enum, Field, Message

if TYPE_CHECKING:
    from stillflow.export.functions import FunctionWriter

_LONG = 200  # bytes that are compressed
_KINDS = {
    getattr(FieldDescriptor, f"TYPE_{name}"): name.lower()
    for name in (
        "DOUBLE", "FLOAT", "INT64", "UINT64", "INT32", "FIXED64", "FIXED32", "BOOL", "STRING",
        "MESSAGE", "BYTES", "UINT32", "ENUM", "SFIXED32", "SFIXED64", "SINT32", "SINT64",
    )
}  # fmt: skip


def message_class(writer: FunctionWriter, kind: Any) -> str:
    """Return the name of a class of messages, which is defined with those of its fields."""
    return _defined(writer, kind.DESCRIPTOR)


def _defined(writer: FunctionWriter, descriptor: Any) -> str:
    return writer.define(
        ("message", descriptor.full_name), descriptor.name,
        lambda name: f"class {name}({writer.expression(Message)}):\n"
        f"    by_name = {writer.expression(_fields(writer, descriptor))}",
    )  # fmt: skip


def _fields(writer: FunctionWriter, descriptor: Any) -> dict[str, Field]:
    return {field.name: _field(writer, field, descriptor) for field in descriptor.fields}


def _field(writer: FunctionWriter, field: Any, owner: Any) -> Field:
    kind, home, inner = _KINDS.get(field.type, "bytes"), "", field.message_type
    if inner is not None:
        home = _defined(writer, inner)
        kind = "map" if inner.GetOptions().map_entry else kind
    is_entry = owner.GetOptions().map_entry
    one_of = field.containing_oneof.name if field.containing_oneof else ""
    default = None if field.is_repeated or inner is not None else field.default_value
    return Field(
        field.number, field.name, kind, field.is_repeated, field.is_packed,
        field.has_presence or is_entry, one_of, default, home,
    )  # fmt: skip


def field(writer: FunctionWriter, value: Any) -> str:
    """Return a field of a message of another program as an object with its facts."""
    return writer.expression(Descriptor(
        value.number, value.type, value.default_value, value.is_repeated, value.full_name,
        bool(value.GetOptions().packed),
    ))  # fmt: skip


def message(writer: FunctionWriter, value: Any) -> str:
    """Return a message as an expression of its bytes."""
    text = bytes_text(writer, value.SerializeToString(deterministic=True))
    return f"{message_class(writer, type(value))}.FromString({text})"


def bytes_text(writer: FunctionWriter, data: bytes) -> str:
    """Return bytes as an expression; many are compressed."""
    if len(data) <= _LONG:
        return repr(data)
    writer.need("import base64")
    writer.need("import zlib")
    packed = base64.b85encode(zlib.compress(data)).decode()
    return f"zlib.decompress(base64.b85decode({packed!r}))"


def enum(writer: FunctionWriter, value: Any) -> str:
    """Return an enum of messages as an expression."""
    names = {number: name for name, number in value.items()}
    return f"{writer.expression(Enum)}({writer.expression(names)})"


def table(writer: FunctionWriter, value: Any) -> str:
    """Return a lookup table as a dictionary, with the entries that it has."""
    entries = value.all_entries() if value.size() else ([], [])
    keys, values = (np.asarray(each).tolist() for each in entries)
    keys = map(tuple, keys) if value.key_shape else keys
    return writer.shared(value, writer.expression(dict(zip(keys, values, strict=True))))


def mutex(writer: FunctionWriter, value: Any) -> str:
    """Return a mutex as a lock, which a thread may lock again."""
    writer.need("import threading")
    return writer.shared(value, "threading.RLock()")


def getter(writer: FunctionWriter, value: Any) -> str:
    """Return a function that gets items as an expression."""
    writer.need("import operator")
    _, keys = value.__reduce__()
    return f"operator.itemgetter({', '.join(map(writer.expression, keys))})"


def queue(writer: FunctionWriter, value: Any) -> str:
    """Return a queue of Python as an expression."""
    writer.need("import collections")
    return f"collections.deque({writer.expression(list(value))})"


_FIELD = Summary.DESCRIPTOR.fields[0]
# By type: functions from the writer and the object to its expression.
SOURCES: dict[type, Callable[[Any, Any], str]] = {
    collections.deque: queue,
    operator.itemgetter: getter,
    type(Summary): message_class,
    EnumTypeWrapper: enum,
    FieldDescriptor: field,
    LibraryMessage: message,
    Mutex: mutex,
    Table: table,
    type(_FIELD): field,
}
