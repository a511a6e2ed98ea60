"""CRC32C, the checksum of TensorFlow's files, and the masked form in which files keep it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import google_crc32c
import numpy as np

_MASK_DELTA = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # the highest power in the lowest bit, as in all checksums here
_LARGE = 1 << 16  # from here on other threads had better run meanwhile


def extend(crc: int, data: Any) -> int:
    """Return the checksum `crc`, 0 before the first byte, extended by a buffer, without a copy."""
    if type(data) is bytes and len(data) < _LARGE:
        return google_crc32c.extend(crc, data)
    if not isinstance(data, bytes):
        data = np.frombuffer(data, np.uint8) if memoryview(data).nbytes else b""
    if len(data) >= _LARGE and (function := _without_lock()) is not None:
        memory = data if isinstance(data, bytes) else data.ctypes.data
        return int(function(crc, memory, len(data)))
    return int(google_crc32c.extend(crc, data))


@cache
def _without_lock() -> Callable[[int, Any, int], int] | None:
    """Return the C function behind `google_crc32c.extend`, which releases the GIL.

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
    """Return the checksum of `data` (bytes or a contiguous buffer)."""
    return extend(0, data)


def combine(first: int, second: int, size: int) -> int:
    """Return a concatenation's checksum from those of its parts; `size` is the second's."""
    return _times(_power(8 * size), first) ^ second


@lru_cache(64)
def _power(exponent: int) -> int:
    """Return x to a power, modulo the checksum's polynomial."""
    result, square = 1 << 31, 1 << 30
    while exponent:
        if exponent & 1:
            result = _times(result, square)
        square = _times(square, square)
        exponent >>= 1
    return result


def _times(a: int, b: int) -> int:
    """Return the product of two polynomials modulo the checksum's."""
    result = 0
    for place in range(31, -1, -1):
        if a >> place & 1:
            result ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return result


def mask(crc: int) -> int:
    """Return the masked form in which a checksum is stored next to its data.

    A checksum of bytes that contain their own checksum says little, hence the detour.
    """
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def unmask(masked: int) -> int:
    """Return the checksum behind its stored form."""
    rotated = (masked - _MASK_DELTA) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """Return the checksum of `data` as files store it."""
    return mask(extend(0, data))
