"""Candidate sampling by the loop in C; None where it was not built.

The results are those of `range_samplers.py`, up to the last bits of exponentials and logarithms of
double precision, which NumPy computes in its own ways.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from stillflow import native

if TYPE_CHECKING:
    from stillflow.ops.random.philox import Philox

# In the order of native/candidates.c.
UNIFORM, LOG_UNIFORM, FIXED = range(3)

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Sampler(ctypes.Structure):
    _fields_ = [
        ("kind", _INT), ("range", _INT), ("log_range", _DOUBLE), ("keep", _POINTER),
        ("other", _POINTER), ("weights", _POINTER), ("total", _DOUBLE),
    ]  # fmt: skip


class Loop:
    """A sampler as the loop takes it.

    Args:
      kind: `UNIFORM`, `LOG_UNIFORM` or `FIXED`.
      range: the number of classes.
      log_range: of a log-uniform sampler, the logarithm of `range` + 1.
      tables: of a fixed one: how often buckets keep their numbers, float32 [range], the other
        numbers, int64 [range], and the weights, float32 [range].
      total: the sum of the weights.
    """

    def __init__(
        self, kind: int, range: int, log_range: float = 0.0,
        tables: tuple[np.ndarray, ...] = (), total: float = 0.0,
    ) -> None:  # fmt: skip
        self._tables = tuple(map(np.ascontiguousarray, tables))  # has to live as long as the loop
        places: list[int | None] = [table.ctypes.data for table in self._tables]
        self._sampler = _Sampler(kind, range, log_range, *(places or 3 * [None]), total)
        self._address = ctypes.addressof(self._sampler)

    def sample(
        self, stream: Philox, count: int, unique: bool, true_classes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return sampled classes, int64 [count], and their expected counts.

        Args:
          stream: where the words come from.
          count: how many classes to sample.
          unique: whether they are all different.
          true_classes: int64 [n], contiguous.

        Returns:
          The classes, what is expected of the true ones, float32 [n], and of those sampled,
          float32 [count]; None without the loop, or where it does not find as many classes.
        """
        library = native.library()
        if library is None:
            return None
        sampled, expected = np.empty(count, np.int64), np.empty(count, np.float32)
        true_expected = np.empty(len(true_classes), np.float32)
        failed = library.sample_classes(
            self._address, stream.key, stream.low, stream.high, count, unique,
            true_classes.ctypes.data, len(true_classes), sampled.ctypes.data,
            true_expected.ctypes.data, expected.ctypes.data,
        )  # fmt: skip
        return None if failed else (sampled, true_expected, expected)
