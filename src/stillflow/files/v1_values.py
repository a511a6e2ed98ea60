"""The values of V1 checkpoints: the repeated fields of a `TensorProto`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.files import tensor_types, varint, wire

Array = np.ndarray[Any, Any]

_FLOAT, _DOUBLE, _INT, _STRING, _SCOMPLEX, _INT64, _BOOL = 5, 6, 7, 8, 9, 10, 11
_DCOMPLEX, _HALF = 12, 13

# Type: the field of TensorProto that holds it, and the most bytes that an element takes there.
_FIELDS: dict[int, tuple[int, int]] = {
    1: (_FLOAT, 4),
    2: (_DOUBLE, 8),
    3: (_INT, 10),
    4: (_INT, 2),
    5: (_INT, 10),
    6: (_INT, 10),
    7: (_STRING, 10),
    8: (_SCOMPLEX, 8),
    9: (_INT64, 10),
    10: (_BOOL, 1),
    11: (_INT, 10),
    12: (_INT, 2),
    13: (_INT, 10),
    17: (_INT, 3),
    18: (_DCOMPLEX, 16),
    19: (_HALF, 3),
}
# Fields of numbers of fixed size, and these.
_FIXED = {_FLOAT: "<f4", _DOUBLE: "<f8", _SCOMPLEX: "<c8", _DCOMPLEX: "<c16"}

MAX_BYTES = 1 << 31
_HEADER_BYTES = 1 << 10


def is_supported(number: int) -> bool:
    """Return True if V1 checkpoints can hold this type."""
    return number in _FIELDS


def size_bound(array: Array, number: int) -> int:
    """Return an upper bound of the size of an array's message."""
    bound = _HEADER_BYTES + array.size * _FIELDS[number][1]
    if number == tensor_types.STRING:
        bound += sum(map(len, array.reshape(-1).tolist()))
    return bound


def encode(array: Array, number: int) -> bytes:
    """Return the `TensorProto` with the values of an array, and nothing else."""
    place = _FIELDS[number][0]
    flat = np.ascontiguousarray(array).reshape(-1)
    if place == _STRING:
        items = [item.encode() if isinstance(item, str) else bytes(item) for item in flat]
        return b"".join(wire.header(place, len(item)) + item for item in items)
    if place in _FIXED:
        return wire.field(place, flat.astype(_FIXED[place], copy=False).tobytes())
    if place == _HALF:
        flat = flat.view(np.uint16)
    if place == _BOOL:
        return wire.field(place, flat.view(np.uint8).tobytes())
    return wire.field(place, varint.encode_all(flat.astype(np.int64)))


def decode(message: Any, number: int, shape: tuple[int, ...]) -> Array:
    """Return a `TensorProto`'s values as an array; ValueError if they are not such, or as many."""
    place = _FIELDS[number][0]
    found = [value for at, _, value in wire.fields(message) if at == place]
    if place == _STRING:
        flat = np.empty(len(found), object)
        flat[:] = [bytes(value) for value in found]
    else:
        flat = _numbers(found, place)
        storage = tensor_types.STORAGE[number]
        flat = (
            flat.astype(np.uint16).view(storage)
            if place == _HALF
            else flat.astype(storage, copy=False)
        )
    if flat.size != prod(shape):
        raise ValueError(f"{flat.size} values for a shape of {prod(shape)}")
    return flat.reshape(shape)


def _numbers(found: list[Any], place: int) -> Array:
    """Return the numbers in a repeated field, whether packed or one by one."""
    parts = []
    for value in found:
        if isinstance(value, int):  # not packed
            parts.append(np.array([value], np.uint64).view(np.int64))
        elif place in _FIXED:
            parts.append(np.frombuffer(value, _FIXED[place]))
        else:
            parts.append(varint.decode_all(value))
    if not parts:
        return np.empty(0, _FIXED.get(place, np.int64))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
