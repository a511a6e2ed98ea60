"""PNG images: writing them, byte by byte as libpng does over the same zlib."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from stillflow import native

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MEMORY = 9  # zlib's memLevel, TensorFlow's choice
_PART = 8192  # of the stream in one chunk
_SMALL = 16384  # up to here a smaller window is enough
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels: grey, grey and alpha, RGB, RGBA


def encode(pixels: np.ndarray[Any, Any], level: int = -1) -> bytes:
    """Return uint8 or uint16 [height, width, 1 to 4 channels] as a PNG file.

    `level` is of compression, 0 to 9; -1 is zlib's default.
    """
    height, width, channels = pixels.shape
    size = pixels.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, 8 * size, _COLOUR_TYPES[channels], 0, 0, 0)
    samples = pixels.reshape(height, width * channels)
    stored = np.ascontiguousarray(samples, ">u2").view(np.uint8) if size == 2 else samples
    data = _compressed(_filtered(stored, channels * size, width), level)
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    chunks = [_chunk(b"IHDR", header), *(_chunk(b"IDAT", part) for part in parts)]
    return b"".join([_SIGNATURE, *chunks, _chunk(b"IEND", b"")])


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def _filtered(rows: np.ndarray[Any, Any], step: int, width: int) -> bytes:
    """Return each row after the filter that leaves the smallest differences.

    Which filters are tried, and that the first of equals is taken, is libpng's way.
    """
    height, size = rows.shape
    padded = np.zeros((1 + height, step + size), np.uint8)
    padded[1:, step:] = rows
    if (loops := native.library()) is not None:
        made = np.empty((height, 1 + size), np.uint8)
        tried = 1 | (width > 1) << 1 | (height > 1) << 2 | (width > 1 and height > 1) * 0b11000
        if not loops.filter_rows(padded.ctypes.data, height, size, step, tried, made.ctypes.data):
            return made.tobytes()
    left, up, corner = padded[1:, :-step], padded[:-1, step:], padded[:-1, :-step]
    guesses: dict[int, Any] = {0: np.uint8(0)}
    if width > 1:
        guesses[1] = left
    if len(rows) > 1:
        guesses[2] = up
        if width > 1:
            guesses[3] = ((left.astype(np.uint16) + up) // 2).astype(np.uint8)
            guesses[4] = _paeth(left, up, corner)
    choices = np.stack([rows - guess for guess in guesses.values()])
    cost = np.abs(choices.view(np.int8).astype(np.int32)).sum(2)
    best = cost.argmin(0)
    chosen = choices[best, np.arange(len(rows))]
    numbers = np.array(list(guesses), np.uint8)[best]
    return np.concatenate([numbers[:, None], chosen], 1).tobytes()


def _paeth(left: Any, up: Any, corner: Any) -> np.ndarray[Any, Any]:
    """Whichever of three neighbours is nearest to left + up - corner; left before up."""
    a, b, c = (array.astype(np.int16) for array in (left, up, corner))
    far_a, far_b, far_c = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    nearest = np.where((far_a <= far_b) & (far_a <= far_c), a, np.where(far_b <= far_c, b, c))
    result: np.ndarray[Any, Any] = nearest.astype(np.uint8)
    return result


def _compressed(data: bytes, level: int) -> bytes:
    """Return a zlib stream with libpng's parameters: windows no larger than the image."""
    bits = 15
    if len(data) <= _SMALL:
        while bits > 8 and len(data) + 262 <= 1 << (bits - 1):
            bits -= 1
    compressor = zlib.compressobj(level, zlib.DEFLATED, max(bits, 9), _MEMORY, zlib.Z_FILTERED)
    stream = bytearray(compressor.compress(data) + compressor.flush())
    if len(data) <= _SMALL:  # a reader may allocate less still than the writer had to
        window = stream[0] >> 4
        while window and len(data) <= 1 << (window + 7):
            window -= 1
        stream[0] = stream[0] & 0x0F | window << 4
        flags = stream[1] & 0xE0
        stream[1] = flags + 31 - ((stream[0] << 8) + flags) % 31
    return bytes(stream)
