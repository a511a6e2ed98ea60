"""Statistics of many leaves in common arrays, so that a batch is counted by few calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array

Field = tuple[tuple[int, ...], Any]  # shape and dtype of a field of a leaf, or of one of its tests


class Shelf:
    """Arrays with a row for each leaf; some have a column for each of its tests.

    Args:
      of_leaves, of_tests: the fields by name.
    """

    def __init__(self, of_leaves: Mapping[str, Field], of_tests: Mapping[str, Field]) -> None:
        self.of_tests = tuple(of_tests)
        self.width = 1  # how many tests there is room for
        self._arrays = {
            name: np.zeros((8, *shape), kind) for name, (shape, kind) in of_leaves.items()
        }
        for name, (shape, kind) in of_tests.items():
            self._arrays[name] = np.zeros((8, 1, *shape), kind)
        self._free = list(range(8))

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def take(self, width: int) -> int:
        """Return a row of zeros with room for so many tests."""
        if width > self.width:
            self._pad(1, max(width, self.width) - self.width, self.of_tests)
            self.width = width
        if not self._free:
            count = len(next(iter(self._arrays.values())))
            self._pad(0, count, tuple(self._arrays))
            self._free = list(range(count, 2 * count))
        row = self._free.pop()
        for array in self._arrays.values():
            array[row] = np.zeros((), array.dtype)
        return row

    def release(self, row: int) -> None:
        """Release a row."""
        self._free.append(row)

    def _pad(self, axis: int, more: int, names: tuple[str, ...]) -> None:
        for name in names:
            old = self._arrays[name]
            size = list(old.shape)
            size[axis] = more
            self._arrays[name] = np.concatenate([old, np.zeros(size, old.dtype)], axis)

    def remove_test(self, row: int, number: int) -> None:
        """Move the tests of a leaf that come after one to its place."""
        for name in self.of_tests:
            tests = self._arrays[name][row]
            tests[number:-1] = tests[number + 1 :].copy()
            tests[-1] = np.zeros((), tests.dtype)
