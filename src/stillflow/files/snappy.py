"""Reading of Snappy, the compression that blocks of some old tables have."""

from __future__ import annotations

from typing import Any

from stillflow.files import varint

# No element of two bytes or more stands for more than 64 bytes.
_MAX_RATIO = 64


def decompress(data: Any) -> bytes:
    """Decompress some bytes; ValueError if they are not Snappy's, or damaged."""
    limit = len(data)
    size, position = varint.decode(data, 0, limit)
    if size > _MAX_RATIO * limit:
        raise ValueError("more is promised than there can be")
    out = bytearray()
    while position < limit:
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length, position = _literal_length(data, position, tag)
            if length > limit - position:
                raise ValueError("literal over the end")
            out += data[position : position + length]
            position += length
        else:
            length, distance, position = _copy(data, position, tag)
            _append_copy(out, length, distance)
        if len(out) > size:
            raise ValueError("more than was promised")
    if len(out) != size:
        raise ValueError("less than was promised")
    return bytes(out)


def _literal_length(data: Any, position: int, tag: int) -> tuple[int, int]:
    length = tag >> 2
    if length < 60:
        return length + 1, position
    count = length - 59
    if position + count > len(data):
        raise ValueError("cut off")
    return int.from_bytes(data[position : position + count], "little") + 1, position + count


def _copy(data: Any, position: int, tag: int) -> tuple[int, int, int]:
    count = (0, 1, 2, 4)[tag & 3]
    if position + count > len(data):
        raise ValueError("cut off")
    distance = int.from_bytes(data[position : position + count], "little")
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, (tag >> 5) << 8 | distance, position + count
    return (tag >> 2) + 1, distance, position + count


def _append_copy(out: bytearray, length: int, distance: int) -> None:
    if not 0 < distance <= len(out):
        raise ValueError("copy from before the start")
    start = len(out) - distance
    while length > 0:  # a copy may overlap its own output
        piece = out[start : start + min(length, distance)]
        out += piece
        length -= len(piece)
