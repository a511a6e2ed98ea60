"""What the index of a V2 checkpoint says of a tensor: a `BundleEntryProto`, there and back.

A checkpoint may have very many of them, and few that differ in more than numbers. So what they have
in common, their type and shape, is parsed and made once, and the numbers behind it by hand.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from stillflow.files import crc32c, varint
from stillflow.files.tensor_slice import Shape, TensorSlice

MAX_RANK = 254

_OFFSET, _SIZE, _CRC = b"\x20", b"\x28", b"\x35"
_NUMBERS = re.compile(
    rb"(?:\x18([\x80-\xff]*[\x00-\x7f]))?"
    rb"(?:\x20([\x80-\xff]*[\x00-\x7f]))?"
    rb"(?:\x28([\x80-\xff]*[\x00-\x7f]))?"
    rb"(?:\x35(.{4}))?",
    re.DOTALL,
)


class Entry(NamedTuple):
    """What the index says of one tensor, or of one part of it."""

    number: int  # its type in the DataType enum
    shape: Shape
    shard: int
    offset: int
    size: int
    crc32c: int  # masked
    slices: tuple[TensorSlice, ...] = ()


def shape_of(message: Any) -> Shape | None:
    """The shape in a `TensorShapeProto`; None if it is not one of a tensor in a file."""
    shape = tuple(dim.size for dim in message.dim)
    if message.unknown_rank or len(shape) > MAX_RANK or any(size < 0 for size in shape):
        return None
    return shape if prod(size for size in shape if size) < 1 << 62 else None


def describe(number: int, shape: Shape) -> Any:
    """A `BundleEntryProto` that says nothing but the type and the shape."""
    from stillflow.protos import BundleEntryProto

    entry = BundleEntryProto(dtype=number)
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add().size = size
    return entry


def encode(number: int, shape: Shape, offset: int, size: int, crc: int) -> bytes:
    """The bytes of the entry of a whole tensor in the first data file.

    Args:
      number: Its type in the `DataType` enum.
      shape: Its shape.
      offset, size: Where it lies.
      crc: The CRC32C of its bytes.
    """
    result = _head(number, shape)
    if offset:
        result += _OFFSET + varint.encode(offset)
    if size:
        result += _SIZE + varint.encode(size)
    masked = crc32c.mask(crc)
    return result + _CRC + masked.to_bytes(4, "little") if masked else result


@lru_cache(1024)
def _head(number: int, shape: Shape) -> bytes:
    return bytes(describe(number, shape).SerializeToString())


def decode(raw: bytes) -> Entry | None:
    """An entry from its bytes.

    Returns:
      The entry; None if its shape is not one of a tensor in a file.

    Raises:
      ValueError: If the bytes are no such message.
    """
    # First the type and the shape: two fields, which both have one byte of length at most.
    if len(raw) > 3 and raw[0] == 0x08 and raw[2] == 0x12 and raw[1] < 0x80 and raw[3] < 0x80:
        end = 4 + raw[3]
        found = _NUMBERS.fullmatch(raw, end) if end <= len(raw) else None
        if found:
            shard, offset, size, crc = found.groups(b"\0")
            try:
                number, shape = _described(raw[:end])
                if shape is None:
                    return None
                # As `Entry(...)`, which takes as long as all the rest.
                return tuple.__new__(
                    Entry,
                    (
                        number,
                        shape,
                        shard[0] if shard < b"\x80" else _integer(shard),
                        offset[0] if offset < b"\x80" else _integer(offset),
                        size[0] if size < b"\x80" else _integer(size),
                        int.from_bytes(crc, "little"),
                        (),
                    ),
                )
            except ValueError:  # no integer, or no shape: protobuf says what it thinks of that
                pass
    return _decode_any(raw)


def _parse(raw: bytes) -> Any:
    from google.protobuf.message import DecodeError

    from stillflow.protos import BundleEntryProto

    try:
        return BundleEntryProto.FromString(raw)
    except DecodeError as error:
        raise ValueError(str(error)) from None


def _decode_any(raw: bytes) -> Entry | None:
    message = _parse(raw)
    shape = shape_of(message.shape)
    if shape is None:
        return None
    return Entry(
        message.dtype,
        shape,
        message.shard_id,
        message.offset,
        message.size,
        message.crc32c,
        tuple(TensorSlice.from_proto(part) for part in message.slices),
    )


@lru_cache(1024)
def _described(head: bytes) -> tuple[int, Shape | None]:
    message = _parse(head)
    return message.dtype, shape_of(message.shape)


def _integer(raw: bytes) -> int:
    """An integer of at most 63 bits; ValueError if it has more."""
    if len(raw) == 2:
        return raw[0] & 0x7F | raw[1] << 7
    if len(raw) == 3:
        return raw[0] & 0x7F | (raw[1] & 0x7F) << 7 | raw[2] << 14
    value, _ = varint.decode(raw, 0, len(raw))
    if value >> 63:
        raise ValueError("a negative integer")
    return value
