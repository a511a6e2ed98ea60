"""Recorded tensors of a run, in order of time."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Any

import numpy as np

Tag = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Numbers:
    """Record of a tensor of a run; in loops, of one iteration.

    Args:
      order: how many were seen before.
      tag: the loops around it, each with the number of its iteration.
      dtype: its dtype's name.
      shape: its shape.
      nans: how many elements are NaN.
      infinities: how many are infinite.
      low: the least of the others, NaN if there are none.
      high: the greatest of the others, NaN if there are none.
    """

    order: int
    tag: Tag
    dtype: str
    shape: tuple[int, ...]
    nans: int
    infinities: int
    low: float
    high: float

    @classmethod
    def of(cls, order: int, array: Any, tag: Tag = ()) -> Numbers | None:
        """Return the record of an array; None if it is not of floats."""
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            return None
        finite = np.isfinite(array)
        nans = infinities = 0
        rest = array
        if not finite.all():
            nans = int(np.isnan(array).sum())
            infinities = int(array.size - finite.sum()) - nans
            rest = array[finite]
        low, high = (float(rest.min()), float(rest.max())) if rest.size else (np.nan, np.nan)
        return cls(order, tag, str(array.dtype), array.shape, nans, infinities, low, high)

    def has(self, kind: str) -> bool:
        """Return True if there is a "NaN", or an "infinity"."""
        return bool(self.nans if kind == "NaN" else self.infinities)

    def __str__(self) -> str:
        parts = [f"{self.nans} NaN"] if self.nans else []
        parts += [f"{self.infinities} infinite"] if self.infinities else []
        bounds = "" if np.isnan(self.low) else f"from {self.low:.6g} to {self.high:.6g}"
        return f"{self.dtype} {self.shape}: {', '.join([*parts, bounds]).strip(', ')}"


class Sightings:
    """All tensors of floats of a run, in each iteration of a loop."""

    def __init__(self) -> None:
        self._count = 0
        self._seen: dict[str, list[Numbers]] = {}

    def add(self, name: str, array: Any, tag: Tag = ()) -> Numbers | None:
        """Remembers an array.

        Args:
          name: the tensor's, `"op:0"`.
          array: what it was; only arrays of floats are remembered.
          tag: the loops around it, each with the number of its iteration.

        Returns:
          What is remembered of it.
        """
        numbers = Numbers.of(self._count, array, tag)
        if numbers is not None:
            self._count += 1
            self._seen.setdefault(name, []).append(numbers)
        return numbers

    def last(self, name: str) -> Numbers | None:
        """Return the last record of a tensor."""
        seen = self._seen.get(name)
        return seen[-1] if seen else None

    def given(self, name: str, result: Numbers) -> Numbers | None:
        """Return the record of a tensor when its consumer gave `result`.

        Iterations of a loop overlap: that of the same iteration counts, where there is one.
        """
        seen = self._seen.get(name, [])
        end = bisect.bisect_left(seen, result.order, key=lambda numbers: numbers.order)
        for at in reversed(range(end)):
            if seen[at].tag == result.tag:
                return seen[at]
        return seen[end - 1] if end else None

    def beside(self, name: str, result: Numbers) -> Numbers | None:
        """Return the record of another output of an operation when it gave `result`."""
        seen = self._seen.get(name, [])
        return min(seen, key=lambda numbers: abs(numbers.order - result.order), default=None)
