"""Values as `TensorProto` messages, encoded as TensorFlow's tasks do: as their bytes in memory.

A message with a large value is neither built nor parsed by protobuf, which would copy the value
several times. Its few other bytes are written around the memory of the value, and the array of a
received message is the part of the message that holds the value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.varint import decode, encode
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.tensor_proto import kernel_array
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.cluster.grpc_port import file

Array = np.ndarray[Any, Any]
# Bytes of a message, in pieces.
Pieces = list[Any]

_WORKER = "tensorflow/core/protobuf/worker.proto"
_HANDLES = ("resource", "variant")
_LARGEST = (1 << 31) - 1024  # bytes of a value, as a message is limited to 2 GB
_BY_HAND = 1 << 14  # bytes of a message that protobuf does not parse
_ALIGNED = 16  # bytes, as memory of a `bytes` object is
_VARINT, _LENGTH = 0, 2  # how a field is written


def pieces(value: Any, dtype: DType, name: str = "") -> Pieces:
    """Return the `TensorProto` of a value, in pieces of which the last may share its memory.

    Raises:
      tf.errors.UnimplementedError: for a handle, which means nothing in another process.
      tf.errors.ResourceExhaustedError: for a value above 2 GB, which `name` tells in the error.
    """
    dtype = dtype.base_dtype
    if dtype.name in _HANDLES:
        raise errors.unimplemented(
            f"Stillflow cannot send a value of type {dtype.name} to another process"
        )
    # An array of NumPy's own strings would end before trailing zeros.
    text = isinstance(value, (bytes, str))
    array = np.asarray(value, dtype=object) if text else _array(value)
    sizes = [_field(2, [b"\x08", encode(size)]) for size in array.shape]
    shape = _field(2, [piece for size in sizes for piece in size])
    head = [b"\x08", encode(dtype.as_datatype_enum), *shape]
    if not array.size:
        return head
    return [*head, *_field(4, [_content(array, dtype, name)])]


def _content(array: Array, dtype: DType, name: str) -> Any:
    if dtype is dtypes.string:
        items = [_as_bytes(item) for item in array.reshape(-1).tolist()]
        count, found = sum(map(len, items)), [*(encode(len(item)) for item in items), *items]
    else:
        count = array.nbytes
    _check(count, f"A value{name and f', {name},'}")
    if dtype is dtypes.string:
        return b"".join(found)
    if sys.byteorder == "big":
        array = array.byteswap()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _check(count: int, what: str) -> None:
    if count > _LARGEST:
        raise errors.resource_exhausted(
            f"{what} of {count} bytes cannot be sent to another process: a message holds {_LARGEST}"
            " bytes at most. Split the value"
        )


def _field(number: int, content: Pieces) -> Pieces:
    """Return a field that has a length."""
    return [encode(number << 3 | _LENGTH), encode(sum(map(len, content))), *content]


def named(number: int, name: str, value: Any, dtype: DType) -> Pieces:
    """Return a field that holds a `NamedTensorProto`."""
    return _field(number, [*_field(1, [name.encode()]), *_field(2, pieces(value, dtype, name))])


def fill(message: Any, value: Any, dtype: DType) -> None:
    """Write a value into an empty `TensorProto`; errors are those of `pieces`."""
    message.ParseFromString(b"".join(pieces(value, dtype)))


def joined(message: Any, fields: Iterable[Pieces]) -> bytes:
    """Return a message with more fields: values, which are copied once.

    Raises:
      tf.errors.ResourceExhaustedError: above 2 GB.
    """
    parts = [message.SerializeToString(), *(each for field in fields for each in field)]
    _check(sum(map(len, parts)), f"A {message.DESCRIPTOR.name}")
    return b"".join(parts)


def response(value: Any, dtype: DType, name: str) -> bytes:
    """Return the `RecvTensorResponse` of a value, which is copied once; a dead one is None."""
    if value is None:
        kind = encode(dtype.base_dtype.as_datatype_enum)
        return b"".join([*_field(1, [b"\x08", kind]), b"\x10\x01"])
    content = _field(1, pieces(value, dtype, name))
    began = [b"\x18", encode(int(time.time() * 1e6))]
    if len(content[-1]) >= _BY_HAND:  # the reader's array is to begin where memory is aligned
        missing = -sum(map(len, [*began, *content[:-1]])) % _ALIGNED
        if missing % 2:  # the field is_dead, false, in three bytes; below in two
            began.append(b"\x10\x80\x00")
            missing = (missing - 3) % _ALIGNED
        began.append(b"\x10\x00" * (missing // 2))
    return b"".join([*began, *content])


def received(data: bytes) -> Array | None:
    """Return the value of a `RecvTensorResponse`; None if it is dead.

    The array may be a part of the message, which is to have no other use.

    Raises:
      tf.errors.InvalidArgumentError: for bytes that are no such message.
    """
    from google.protobuf.message import DecodeError

    if len(data) >= _BY_HAND:
        try:
            return _part(data)
        except (LookupError, TypeError, ValueError):
            pass  # protobuf knows better, or says why
    try:
        message = file(_WORKER)["RecvTensorResponse"].FromString(data)
    except DecodeError as error:
        raise errors.invalid_argument(f"Invalid RecvTensorResponse: {error}") from None
    return None if message.is_dead else array_of(message.tensor)


def _part(data: bytes) -> Array:
    """Return the value that fills most of a message, without a copy.

    LookupError, TypeError or ValueError if it does not.
    """
    outer = _fields(data, slice(0, len(data)), {1, 2, 3})
    if outer.get(2):
        raise ValueError
    return _value(data, outer[1])


def parsed(kind: Any, number: int, data: bytes) -> tuple[Any, dict[str, Any]]:
    """Return a message, and the values of one of its fields, `NamedTensorProto`s, by their names.

    The values are for `array_of`: large ones are arrays, maybe parts of the message, which is to
    have no other use, and are not in the field.
    """
    kept: list[bytes] = []
    values: dict[str, Any] = {}
    begin = 0
    try:
        for field, found, end in _pairs(data, slice(0, len(data))):
            if field == number and end - begin >= _BY_HAND:
                parts = _fields(data, found, {1, 2})
                values[data[parts[1]].decode()] = _value(data, parts[2])
            else:
                kept.append(data[begin:end])
            begin = end
    except (AttributeError, LookupError, TypeError, ValueError):
        kept, values = [data], {}  # as protobuf sees it
    message = kind.FromString(b"".join(kept))
    for each in getattr(message, kind.DESCRIPTOR.fields_by_number[number].name):
        values[each.name] = each.tensor
    return message, values


def _value(data: bytes, place: slice) -> Array:
    """Return the value of a `TensorProto` that stands at a place, without a copy if aligned."""
    inner = _fields(data, place, {1, 2, 3, 4})
    if sys.byteorder == "big":
        raise ValueError
    sizes = []
    for number, size, _ in _pairs(data, inner[2]):
        if number != 2:
            raise ValueError  # a shape that is not known
        sizes.append(_fields(data, size, {1})[1])
    dtype, content = dtypes.as_dtype(inner[1]).base_dtype, inner[4]
    if dtype is dtypes.string or (content.stop - content.start) != prod(sizes) * dtype.size:
        raise ValueError
    memory = np.frombuffer(data, np.uint8)
    if memory.__array_interface__["data"][0] + content.start & (_ALIGNED - 1):
        return memory[content].copy().view(dtype.np_dtype).reshape(sizes)
    return np.asarray(_Memory(memory))[content].view(dtype.np_dtype).reshape(sizes)


class _Memory:
    """Memory of a message that nobody reads again, so that it may be written to."""

    def __init__(self, array: Array) -> None:
        self._owner = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _fields(data: bytes, place: slice, known: set[int]) -> dict[int, Any]:
    """Return the fields of a message of which each stands there once, and no other."""
    found: dict[int, Any] = {}
    for number, value, _ in _pairs(data, place):
        if number not in known or (value and found.get(number)):
            raise ValueError
        found[number] = value
    return found


def _pairs(data: bytes, place: slice) -> Iterator[tuple[int, Any, int]]:
    """Yield the number of each field, its integer or the place of its content, and its end."""
    position, end = place.start, place.stop
    while position < end:
        tag, position = decode(data, position, end)
        value, position = decode(data, position, end)
        if tag & 7 == _VARINT:
            yield tag >> 3, value, position
            continue
        start, position = position, position + value
        if tag & 7 != _LENGTH or position > end:
            raise ValueError
        yield tag >> 3, slice(start, position), position


def array_of(message: Any) -> Array:
    """Return the value of a `TensorProto`; an array is one already.

    Raises:
      tf.errors.InvalidArgumentError: for a message whose type, shape and values do not fit.
    """
    if isinstance(message, np.ndarray):
        return message
    try:
        return kernel_array(message)
    except (TypeError, ValueError, OverflowError, KeyError) as error:
        raise errors.invalid_argument(f"Invalid TensorProto: {error}") from None


def _array(value: Any) -> Array:
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else to_array(value)


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
