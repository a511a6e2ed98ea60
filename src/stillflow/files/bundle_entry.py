"""Index entries of V2 checkpoints: `BundleEntryProto`s, encoded and decoded.

A checkpoint may have very many of them, and few that differ in more than numbers. So the common
part, type and shape, is parsed and made once, and the numbers behind it by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from math import prod
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.files import crc32c, tensor_types, varint
from stillflow.files.tensor_slice import Shape, TensorSlice

MAX_RANK = 254

Array = np.ndarray[Any, Any]

_SHARD, _OFFSET, _SIZE, _CRC = b"\x18", b"\x20", b"\x28", b"\x35"
_FEW = 16  # less are decoded one by one


class Entry(NamedTuple):
    """Index entry of one tensor, or of one part of it."""

    number: int  # its type in the DataType enum
    shape: Shape
    shard: int
    offset: int
    size: int
    crc32c: int  # masked
    slices: tuple[TensorSlice, ...] = ()


def shape_of(message: Any) -> Shape | None:
    """Return the shape in a `TensorShapeProto`; None if it is not one of a tensor in a file."""
    shape = tuple(dim.size for dim in message.dim)
    if message.unknown_rank or len(shape) > MAX_RANK or any(size < 0 for size in shape):
        return None
    return shape if prod(size for size in shape if size) < 1 << 62 else None


def describe(number: int, shape: Shape) -> Any:
    """Return a `BundleEntryProto` with only the type and the shape."""
    from stillflow.protos import BundleEntryProto

    entry = BundleEntryProto(dtype=number)
    entry.shape.SetInParent()
    for size in shape:
        entry.shape.dim.add().size = size
    return entry


def encode(number: int, shape: Shape, offset: int, size: int, crc: int) -> bytes:
    """Return the bytes of the entry of a whole tensor in the first data file.

    `number` is its type in the `DataType` enum, `crc` the CRC32C of its bytes.
    """
    result = _head(number, shape)
    if offset:
        result += _OFFSET + varint.encode(offset)
    result += _sized(size)
    masked = crc32c.mask(crc)
    return result + _CRC + masked.to_bytes(4, "little") if masked else result


def encode_all(number: int, shapes: Sequence[Shape], offset: int, content: bytes) -> list[bytes]:
    """Return the `encode`d entries of many tensors of one numeric type.

    The first lies at `offset`; `content` is the bytes of all, one tensor after the other.
    """
    width = tensor_types.STORAGE[number].itemsize
    sizes = [prod(shape) * width for shape in shapes]
    assert sum(sizes) == len(content)
    library = native.library() if shapes else None
    if library is None:
        return _encoded(number, shapes, offset, sizes, content)
    heads = [_head(number, shape) for shape in shapes]
    head_ends = np.cumsum(np.fromiter(map(len, heads), np.int64))
    data, ends = np.array(sizes, np.int64), np.empty(len(sizes), np.int64)
    out = np.empty(int(head_ends[-1]) + 27 * len(sizes), np.uint8)
    library.encode_entries(
        content, data.ctypes.data, len(sizes), offset, b"".join(heads), head_ends.ctypes.data,
        out.ctypes.data, ends.ctypes.data,
    )  # fmt: skip
    text, stops = out.tobytes(), ends.tolist()
    return [text[start:stop] for start, stop in zip([0, *stops], stops)]


def _encoded(
    number: int, shapes: Sequence[Shape], offset: int, sizes: Sequence[int], content: bytes
) -> list[bytes]:
    """Return the same as `encode_all`, without the native library."""
    result, start = [], 0
    for shape, size in zip(shapes, sizes):
        crc = crc32c.crc32c(content[start : start + size])
        result.append(encode(number, shape, offset + start, size, crc))
        start += size
    return result


@lru_cache(1024)
def _sized(size: int) -> bytes:
    return _SIZE + varint.encode(size) if size else b""


@lru_cache(1024)
def _head(number: int, shape: Shape) -> bytes:
    return bytes(describe(number, shape).SerializeToString())


def decode(raw: bytes) -> Entry | None:
    """Return an entry from its bytes; None for a shape that no stored tensor has.

    ValueError if the bytes are no such message.
    """
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


def decode_all(raws: Sequence[bytes]) -> list[Entry | None]:
    """Decode many entries; None for those that are missing and those that are no messages.

    The numbers of all are read at once; entries in another form than TensorFlow's are left to
    `decode`.
    """
    if len(raws) < _FEW:
        return list(map(_decoded, raws))
    heads = [raw[: 4 + raw[3]] if len(raw) > 3 else b"" for raw in raws]
    described = list(map(_usual_head, heads))
    data = np.frombuffer(b"".join(raws) + bytes(16), np.uint8)
    ends = np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)))
    at = np.concatenate(([0], ends[:-1])) + np.fromiter(map(len, heads), np.int64, len(heads))
    columns = []
    for tag in (_SHARD, _OFFSET, _SIZE):
        column, at = _integers(data, at, ends, tag)
        columns.append(column.tolist())
    crcs, at = _checksums(data, at, ends)
    usual = (at == ends).tolist()
    numbers, shapes = zip(*described)
    found: list[Entry | None] = list(
        map(tuple.__new__, repeat(Entry), zip(numbers, shapes, *columns, crcs.tolist(), repeat(())))
    )
    for index, raw in enumerate(raws):
        if not usual[index] or shapes[index] is None:
            found[index] = _decoded(raw)
    return found


def _decoded(raw: bytes) -> Entry | None:
    try:
        return decode(raw)
    except ValueError:
        return None


def _usual_head(head: bytes) -> tuple[int, Shape | None]:
    """Type and shape if they come first and are short; no shape if not."""
    if head[:1] != b"\x08" or head[2:3] != b"\x12" or head[1] > 0x7F or head[3] > 0x7F:
        return 0, None
    try:
        return _described(head)
    except ValueError:
        return 0, None


def _integers(data: Array, at: Array, ends: Array, tag: bytes) -> tuple[Array, Array]:
    """Integers with this tag, 0 where it is missing, and where the next fields begin."""
    here = (data[np.minimum(at, ends)] == tag[0]) & (at < ends)
    at = at + here
    result = np.zeros(len(at), np.int64)
    for shift in range(0, 63, 7):
        octets = data[np.minimum(at, ends)]
        result |= np.where(here, octets & 0x7F, 0).astype(np.int64) << shift
        at = at + here
        here = here & (octets > 0x7F)
        if not here.any():
            break
    return result, np.where(here, -1, at)


def _checksums(data: Array, at: Array, ends: Array) -> tuple[Array, Array]:
    """Masked checksums, 0 where there is none, and where the entries end."""
    here = (data[np.minimum(at, ends)] == _CRC[0]) & (at < ends)
    places = np.minimum(at, ends)[:, None] + np.arange(1, 5)
    found = data[places].astype(np.int64) @ (1 << np.arange(0, 32, 8))
    return np.where(here, found, 0), at + 5 * here


def _parse(raw: bytes) -> Any:
    from google.protobuf.message import DecodeError

    from stillflow.protos import BundleEntryProto

    try:
        return BundleEntryProto.FromString(raw)
    except DecodeError as error:
        raise ValueError(str(error)) from None


@lru_cache(1024)
def _described(head: bytes) -> tuple[int, Shape | None]:
    message = _parse(head)
    return message.dtype, shape_of(message.shape)
