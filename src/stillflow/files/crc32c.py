"""CRC32C, the checksum of TensorFlow's files, and the masked form in which files keep it."""

from __future__ import annotations

from typing import Any

import google_crc32c
import numpy as np

_MASK_DELTA = 0xA282EAD8


def extend(crc: int, data: Any) -> int:
    """The checksum of some bytes with this checksum, followed by `data`.

    Args:
      crc: The checksum so far; 0 before the first byte.
      data: bytes, or anything else with a contiguous buffer; nothing is copied.
    """
    if not isinstance(data, bytes):
        data = np.frombuffer(data, np.uint8) if memoryview(data).nbytes else b""
    return int(google_crc32c.extend(crc, data))


def crc32c(data: Any) -> int:
    """The checksum of `data` (bytes or a contiguous buffer)."""
    return extend(0, data)


def mask(crc: int) -> int:
    """The form in which a checksum is stored beside the bytes that it covers.

    A checksum of bytes that contain their own checksum says little, hence the detour.
    """
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """The checksum behind its stored form."""
    rotated = (masked - _MASK_DELTA) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """The checksum of `data` as files store it."""
    return mask(extend(0, data))
