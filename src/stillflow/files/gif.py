"""GIF images: reading all frames, each drawn over the one before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow import native

MAGIC = b"GIF8"
_LARGEST = 1 << 29
_LOST = "failed to slurp gif file: Failed to read from given file"
_LONGEST = 12  # bits of a code


class GifError(ValueError):
    """A file that cannot be decoded; the message is that of giflib."""


class Frame(NamedTuple):
    """One image: where it lies, the indices of its colours, and the colours [count, 3]."""

    left: int
    top: int
    indices: np.ndarray[Any, Any]
    colours: np.ndarray[Any, Any] | None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, count: int) -> bytes:
        part = self.data[self.place : self.place + count]
        if len(part) < count:
            raise GifError(_LOST)
        self.place += count
        return part

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int.from_bytes(self.take(2), "little")

    def blocks(self) -> bytes:
        """Return the content of blocks up to the empty one."""
        parts = []
        while count := self.byte():
            parts.append(self.take(count))
        return b"".join(parts)

    def colours(self, flags: int) -> np.ndarray[Any, Any] | None:
        if not flags & 0x80:
            return None
        count = 2 << (flags & 7)
        return np.frombuffer(self.take(3 * count), np.uint8).reshape(count, 3)


def frames(data: bytes) -> list[Frame]:
    """Return the images of a file; GifError if it is not complete, or damaged."""
    reader = _Reader(data)
    if len(data) < 6:
        raise GifError("failed to open gif file: Failed to read from given file")
    if reader.take(6)[:3] != b"GIF":
        raise GifError("failed to open gif file: Data is not in GIF format")
    reader.take(4)
    flags = reader.byte()
    reader.take(2)
    shared = reader.colours(flags)
    found: list[Frame] = []
    while (kind := reader.byte()) != 0x3B:
        if kind == 0x21:
            reader.byte()
            reader.blocks()
        elif kind == 0x2C:
            found.append(_frame(reader, shared, found))
        else:
            raise GifError("failed to slurp gif file: Wrong record type detected")
    return found


def _frame(reader: _Reader, shared: Any, before: list[Frame]) -> Frame:
    left, top, width, height = (reader.short() for _ in range(4))
    flags = reader.byte()
    own = reader.colours(flags)
    if width <= 0 or height <= 0 or width * height * 3 * (len(before) + 1) >= _LARGEST:
        raise GifError("failed to slurp gif file: Image is defective, decoding aborted")
    bits = reader.byte()
    indices = _indices(reader.blocks(), bits, width * height).reshape(height, width)
    if flags & 0x40:
        order = np.concatenate(
            [np.arange(start, height, step) for start, step in ((0, 8), (4, 8), (2, 4), (1, 2))]
        )
        rows = np.empty_like(indices)
        rows[order] = indices
        indices = rows
    return Frame(left, top, indices, shared if own is None else own)


def _indices(data: bytes, bits: int, count: int) -> np.ndarray[Any, Any]:
    library = native.library()
    found = np.empty(count, np.uint8)
    at = found.ctypes.data
    if library and 1 <= bits <= 8 and library.unpack_gif(data, len(data), bits, at, count):
        return found
    return np.frombuffer(_unpacked(data, bits, count), np.uint8)  # or it raises an error


def _unpacked(data: bytes, bits: int, count: int) -> bytes:
    """`count` indices from LZW codes that start with `bits` bits and one."""
    if not 1 <= bits <= 8:
        raise GifError(_LOST)
    clear = 1 << bits
    start: list[bytes] = [bytes([index]) for index in range(clear)] + [b"", b""]
    table, width, before = list(start), bits + 1, b""
    out, length, held, have = [], 0, 0, 0
    for byte in data:
        held |= byte << have
        have += 8
        while have >= width and length < count:
            code = held & ((1 << width) - 1)
            held >>= width
            have -= width
            if code == clear:
                table, width, before = list(start), bits + 1, b""
                continue
            if code == clear + 1:
                raise GifError("failed to slurp gif file: Image EOF detected before image complete")
            if code < len(table):
                entry = table[code]
            elif code == len(table) and before:
                entry = before + before[:1]
            else:
                raise GifError("failed to slurp gif file: Image is defective, decoding aborted")
            if before and len(table) < 1 << _LONGEST:
                table.append(before + entry[:1])
                if len(table) == 1 << width and width < _LONGEST:
                    width += 1
            before = entry
            out.append(entry)
            length += len(entry)
    if length < count:
        raise GifError(_LOST)
    return b"".join(out)[:count]


def decode(data: bytes) -> np.ndarray[Any, Any]:
    """Return the frames as uint8 [frames, height, width, 3]."""
    found = frames(data)
    if not found:
        raise GifError("gif file does not contain any image")
    height = max(frame.indices.shape[0] for frame in found)
    width = max(frame.indices.shape[1] for frame in found)
    if len(found) * height * width * 3 >= _LARGEST:
        raise GifError("failed to slurp gif file: Image is defective, decoding aborted")
    images = np.zeros((len(found), height, width, 3), np.uint8)
    for index, frame in enumerate(found):
        whole = (frame.left, frame.top, *frame.indices.shape) == (0, 0, height, width)
        if not whole:
            if index == 0:
                raise GifError("the first frame does not fill the canvas")
            images[index] = images[index - 1]
        if frame.colours is None:
            raise GifError(f"missing color map for frame {index}")
        target = images[index, frame.top :, frame.left :]
        indices = frame.indices[: target.shape[0], : target.shape[1]]
        count = len(frame.colours)
        if indices.max(initial=0) >= count:
            wrong = indices[indices >= count]
            raise GifError(f"found color index {wrong[0]} outside of color map range {count}")
        target[: indices.shape[0], : indices.shape[1]] = frame.colours.take(indices, 0)
    return images
