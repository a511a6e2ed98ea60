"""A problem as the loops in C take it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from stillflow.ops.sdca.examples import Problem

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Sparse(ctypes.Structure):
    _fields_ = [(name, _POINTER) for name in ("starts", "places", "values", "weights", "deltas")]


class _Dense(ctypes.Structure):
    _fields_ = [*((name, _POINTER) for name in ("rows", "weights", "deltas")), ("width", _INT)]


class _Problem(ctypes.Structure):
    _fields_ = [
        ("sparse", _POINTER), ("dense", _POINTER), ("sparse_columns", _INT),
        ("dense_columns", _INT), ("labels", _POINTER), ("example_weights", _POINTER),
        ("norms", _POINTER), ("shrinkage", _DOUBLE), ("l2", _DOUBLE), ("partitions", _INT),
        ("loss", _INT),
    ]  # fmt: skip


class Loops:
    """A problem in memory of C, which is kept as long as this is."""

    def __init__(self, problem: Problem, labels: np.ndarray) -> None:
        self._held: list[Any] = []
        sparse = (_Sparse * len(problem.sparse))(*[
            _Sparse(
                self._address(each.starts, np.int64), self._address(each.places, np.int64),
                self._address(each.values), self._address(each.weights),
                each.deltas.ctypes.data,
            )
            for each in problem.sparse
        ])  # fmt: skip
        dense = (_Dense * len(problem.dense))(*[
            _Dense(
                self._address(each.rows), self._address(each.weights), each.deltas.ctypes.data,
                each.rows.shape[1],
            )
            for each in problem.dense
        ])  # fmt: skip
        whole = _Problem(
            ctypes.addressof(sparse), ctypes.addressof(dense), len(sparse), len(dense),
            self._address(labels), self._address(problem.example_weights),
            self._address(problem.norms, np.float64), problem.shrinkage, problem.l2,
            problem.partitions, problem.loss.code,
        )  # fmt: skip
        self._held += [sparse, dense, whole]
        self.address = ctypes.addressof(whole)

    def _address(self, array: np.ndarray, dtype: Any = np.float32) -> int:
        """Return the address of contiguous elements."""
        plain = np.ascontiguousarray(array, dtype)
        self._held.append(plain)
        return plain.ctypes.data


def loops_of(problem: Problem, labels: np.ndarray) -> Loops:
    """Return a problem for the loops in C, which change its columns' deltas in place."""
    return Loops(problem, labels)
