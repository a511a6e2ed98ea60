"""PNG images: writing them."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels: grey, grey and alpha, RGB, RGBA


def encode(pixels: np.ndarray[Any, Any], level: int = -1) -> bytes:
    """Returns an image as a PNG file.

    Args:
      pixels: uint8 or uint16 [height, width, channels], with 1 to 4 channels.
      level: of compression, 0 to 9; -1 is zlib's default.
    """
    height, width, channels = pixels.shape
    size = pixels.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, 8 * size, _COLOUR_TYPES[channels], 0, 0, 0)
    samples = pixels.reshape(height, width * channels)
    stored = np.ascontiguousarray(samples, ">u2").view(np.uint8) if size == 2 else samples
    rows = zlib.compress(_filtered(stored, channels * size), level)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def _filtered(rows: np.ndarray[Any, Any], step: int) -> bytes:
    """Returns each row after the filter that leaves the smallest differences: none, left or up."""
    left = rows.copy()
    left[:, step:] -= rows[:, :-step]
    up = rows.copy()
    up[1:] -= rows[:-1]
    choices = np.stack([rows, left, up])
    cost = np.abs(choices.view(np.int8).astype(np.int32)).sum(2)
    best = cost.argmin(0)
    chosen = choices[best, np.arange(len(rows))]
    return np.concatenate([best[:, None].astype(np.uint8), chosen], 1).tobytes()
