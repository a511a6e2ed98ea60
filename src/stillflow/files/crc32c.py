"""CRC32C, the checksum of TensorFlow's files, and the masked form in which files keep it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import google_crc32c
import numpy as np

_MASK_DELTA = 0xA282EAD8
_LARGE = 1 << 16  # from here on other threads had better run meanwhile


def extend(crc: int, data: Any) -> int:
    """The checksum of some bytes with this checksum, followed by `data`.

    Args:
      crc: The checksum so far; 0 before the first byte.
      data: bytes, or anything else with a contiguous buffer; nothing is copied.
    """
    if not isinstance(data, bytes):
        data = np.frombuffer(data, np.uint8) if memoryview(data).nbytes else b""
    if len(data) >= _LARGE and (function := _without_lock()) is not None:
        memory = data if isinstance(data, bytes) else data.ctypes.data
        return int(function(crc, memory, len(data)))
    return int(google_crc32c.extend(crc, data))


@cache
def _without_lock() -> Callable[[int, Any, int], int] | None:
    """The function of C behind `google_crc32c.extend`, which lets other threads of Python run.

    None where it cannot be reached: in builds that hide it or do without.
    """
    try:
        from google_crc32c import _crc32c

        function = ctypes.CDLL(_crc32c.__file__).crc32c_extend
    except (ImportError, OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t)
    function.restype = ctypes.c_uint32
    probe = b"123456789"
    return function if function(0, probe, len(probe)) == google_crc32c.value(probe) else None


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
