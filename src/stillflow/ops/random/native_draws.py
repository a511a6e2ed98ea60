"""Draws by the loops in C; None where those were not built.

Each function has the results of the one of its name in `draws.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import native

if TYPE_CHECKING:
    from stillflow.ops.random.philox import Philox

# In the order of native/random.c.
_WORDS, _FLOATS, _DOUBLES, _NORMALS, _TRUNCATED = range(5)
_FEW = 1 << 14  # fewer are drawn in less time than other threads need to begin


def words(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` uint32."""
    return _drawn(stream, _WORDS, np.uint32, count, threads)


def words64(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` uint64, each of two words, of which the lower half comes first."""
    pairs = words(stream, 2 * count, threads)
    return None if pairs is None else pairs.view(np.uint64)


def uniform_float(
    stream: Philox, count: int, mantissa: int = 23, threads: int = 1
) -> np.ndarray | None:
    """`count` float32 in [0, 1), of the lowest `mantissa` bits of each word."""
    return _drawn(stream, _FLOATS, np.float32, count, threads, mantissa)


def uniform_double(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` float64 in [0, 1)."""
    return _drawn(stream, _DOUBLES, np.float64, count, threads)


def normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` standard normal float32."""
    return _drawn(stream, _NORMALS, np.float32, count, threads)


def truncated_normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` standard normal float32 within two deviations."""
    return _drawn(stream, _TRUNCATED, np.float32, count, threads)


def _drawn(
    stream: Philox, kind: int, dtype: Any, count: int, threads: int, bits: int = 0
) -> np.ndarray | None:
    library = native.library()
    if library is None:
        return None
    result = np.empty(count, dtype)
    draw = library.draw_few if count <= _FEW else library.draw_many
    draw(stream.key, stream.low, stream.high, kind, bits, count, result.ctypes.data, threads)
    return result
