"""Variable-length integers: seven bits a byte, the lowest first."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_MAX_BYTES = 10
_SHORT = [bytes((value,)) for value in range(0x80)]


def encode(value: int) -> bytes:
    """Return the bytes of an integer that is not negative."""
    if value < 0x80:
        return _SHORT[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x200000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def decode(data: Any, position: int, limit: int) -> tuple[int, int]:
    """Read one integer of up to 64 bits; return it, and where the next thing starts.

    ValueError if it runs over the `limit` of its bytes or over 64 bits.
    """
    result = shift = 0
    end = min(limit, position + _MAX_BYTES)
    while position < end:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> 64:
                break
            return result, position
        shift += 7
    raise ValueError("bad variable-length integer")


def encode_all(values: Array) -> bytes:
    """Return the bytes of many 64-bit integers, one after the other.

    Negative ones take ten bytes.
    """
    rest = np.ascontiguousarray(values).astype(np.int64, copy=False).view(np.uint64).reshape(-1)
    columns, present = [], []
    alive = np.ones(rest.shape, bool)
    while alive.any():
        columns.append((rest & np.uint64(0x7F)).astype(np.uint8))
        present.append(alive)
        rest = rest >> np.uint64(7)
        alive = rest != 0
    if not columns:
        return b""
    table = np.stack(columns, 1)
    there = np.stack(present, 1)
    table[:, :-1][there[:, 1:]] |= 0x80
    return table[there].tobytes()


def decode_all(data: Any) -> Array:
    """Read integers up to the end of `data` as int64; ValueError if one is cut off or too long."""
    raw = np.frombuffer(data, np.uint8)
    if not raw.size:
        return np.empty(0, np.int64)
    ends = np.flatnonzero(raw < 0x80)
    if not ends.size or ends[-1] != raw.size - 1:
        raise ValueError("bad variable-length integer")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _MAX_BYTES:
        raise ValueError("bad variable-length integer")
    result = np.zeros(ends.shape, np.uint64)
    for place in range(int(lengths.max())):
        chosen = lengths > place
        part = raw[starts[chosen] + place].astype(np.uint64) & np.uint64(0x7F)
        result[chosen] |= part << np.uint64(7 * place)
    return result.view(np.int64)
