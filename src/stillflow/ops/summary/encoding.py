"""Serialized `Summary` and `Event` messages, written field by field.

A histogram has hundreds of numbers that are in arrays already, and tags may be any bytes, which
messages of the protobuf library reject.
"""

from __future__ import annotations

import struct
from typing import Any

from stillflow.files import varint, wire

# Fields of a value, and of an event.
TAG, SIMPLE_VALUE, IMAGE, HISTOGRAM, AUDIO, NODE_NAME, TENSOR, METADATA = 1, 2, 4, 5, 6, 7, 8, 9
GRAPH_DEF, SUMMARY = 4, 5

_float = struct.Struct("<f").pack
_double = struct.Struct("<d").pack


def value(tag: bytes, *content: bytes) -> bytes:
    """Return a `Summary` of one value; `content` are fields as `number` and `message` give them."""
    inside = b"".join((wire.field(TAG, tag), *content))
    return wire.header(1, len(inside)) + inside


def simple_value(number: float) -> bytes:
    """Return the field of a scalar, which is written even where it is 0."""
    return b"\x15" + _float(number)


def message(number: int, content: bytes) -> bytes:
    """Return the field of a message, which is written even where it is empty."""
    return wire.header(number, len(content)) + content


def doubles(*values: float) -> bytes:
    """Fields 1, 2, ... of type double; those that are 0 are left out."""
    return b"".join(
        bytes((number << 3 | wire.FIXED64,)) + _double(each)
        for number, each in enumerate(values, 1)
        if each
    )


def packed(number: int, values: Any) -> bytes:
    """Return a repeated field of doubles, from a vector of float64."""
    return wire.field(number, values.tobytes())


def event(time: float, step: int, number: int, content: bytes) -> bytes:
    """Return an `Event` whose field `number` is `content`; the time is in seconds since 1970."""
    return event_header(time, step, number, len(content)) + content


def event_header(time: float, step: int, number: int, size: int) -> bytes:
    """Return the first bytes of an `Event` whose last field of `size` bytes follows."""
    encoded = b"\x10" + varint.encode(step % (1 << 64)) if step else b""
    moment = b"\x09" + _double(time) if time else b""
    return moment + encoded + wire.header(number, size)
