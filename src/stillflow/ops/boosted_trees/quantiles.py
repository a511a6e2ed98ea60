"""Quantiles of a stream of weighted values, found with little memory and a known error.

A summary has values with the least and the largest rank each may have. Summaries are merged without
loss, and compressed to a size with a loss that is bounded; levels of summaries of ever more values
keep that small, after Greenwald and Khanna, and XGBoost's weighted sketch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import refused

_EXACT = float(np.finfo(np.float64).eps)


class Summary(NamedTuple):
    """Values in order, float32, with bounds of the weight before each of them.

    Attributes:
      value: the values, each once.
      weight: of each.
      low, high: the least and the largest rank of what follows on the values.
    """

    value: Any
    weight: Any
    low: Any
    high: Any

    @property
    def before(self) -> Array:
        """The largest rank before each value."""
        return self.high - self.weight

    @property
    def after(self) -> Array:
        """The least rank after each value."""
        return self.low + self.weight

    def __bool__(self) -> bool:
        return len(self.value) > 0

    @property
    def size(self) -> int:
        return len(self.value)

    def rows(self) -> Array:
        """Return the entries as a matrix, [size, 4]."""
        return np.stack(self, 1)

    def pick(self, places: Any) -> Summary:
        """Return some of the entries."""
        return Summary(*(column[places] for column in self))

    def merge(self, other: Summary) -> Summary:
        """Return the summary of both sets of values."""
        if not other:
            return self
        if not self:
            return other
        mine, theirs = self._among(other), other._among(self)
        shared = np.isin(other.value, self.value)
        columns = [np.concatenate([a, b[~shared]]) for a, b in zip(mine, theirs, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        return Summary(*columns).pick(order)

    def _among(self, other: Summary) -> Summary:
        """Return the own entries, with ranks among those of both."""
        place = np.searchsorted(other.value, self.value)
        behind = np.minimum(place, other.size - 1)
        equal = (place < other.size) & (other.value[behind] == self.value)
        zero = np.float32(0)
        low = np.where(place > 0, other.after[np.maximum(place, 1) - 1], zero)
        high = np.where(place < other.size, other.before[behind], other.high[-1])
        return Summary(
            self.value,
            self.weight + np.where(equal, other.weight[behind], zero),
            self.low + np.where(equal, other.low[behind], low),
            self.high + np.where(equal, other.high[behind], high),
        )

    def compress(self, size: int, least_error: float = 0.0) -> Summary:
        """Return a summary of about so many entries; the first and the last one stay.

        Args:
          size: how many.
          least_error: what may be lost at least, relative to the weight of all.
        """
        size = max(size, 2)
        count = self.size
        if count <= size:
            return self
        loss = np.float64(self.high[-1]) * max(1.0 / size, least_error)
        most = _largest_within(float(loss))
        before, after = self.before.tolist(), self.after.tolist()  # items of lists cost a third
        kept, budget, at, last = [0], 0, 0, 1
        while at + 1 < count:
            following = at + 1
            while following < count and budget < count and (
                before[following] - after[at] <= most
            ):  # fmt: skip
                budget += size
                following += 1
            at = at + 1 if following - 1 == at else following - 1
            kept.append(at)
            last = at
            budget -= count
        if last + 1 != count:
            kept.append(count - 1)
        return self.pick(np.array(kept))

    @property
    def error(self) -> float:
        """The error of ranks, relative to the total weight."""
        if not self:
            return 0.0
        inside = (self.high - self.low - self.weight)[1:]
        between = self.before[1:] - self.after[:-1]
        gap = max(np.float32(0), *(part.max(initial=0) for part in (inside, between)))
        return float(gap) / float(self.high[-1])

    def boundaries(self, count: int) -> Array:
        """Return at least so many values that cut the others into parts of about one weight."""
        if not self:
            return self.value
        error = float(np.float32(self.error + 1.0 / count))
        return self.compress(count, error).value

    def quantiles(self, count: int) -> Array:
        """Return the values of the ranks 0, 1 / count, ..., 1."""
        if not self:
            return self.value
        count = max(count, 2)
        found, at, two = [], 0, np.float32(2)
        middles, after, before = self.low + self.high, self.after, self.before
        for rank in range(count + 1):
            wanted = two * (np.float32(rank) * self.high[-1] / np.float32(count))
            following = at + 1
            while following < self.size and wanted >= middles[following]:
                following += 1
            at = following - 1
            first = following == self.size or wanted < after[at] + before[following]
            found.append(at if first else following)
        return self.value[found]


EMPTY = Summary(*(np.zeros(0, np.float32) for _ in Summary._fields))


def _largest_within(bound: float) -> float:
    """Return the largest number that is at most a bound once it is rounded to float32."""
    rounded = np.float32(bound)
    if rounded > bound:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    above = np.nextafter(rounded, np.float32(np.inf))
    middle = (float(rounded) + float(above)) / 2
    return middle if np.float32(middle) == rounded else math.nextafter(middle, -math.inf)


def summary_of(rows: Any) -> Summary:
    """Return the summary whose entries are the rows of a matrix."""
    return Summary(*(np.ascontiguousarray(column, np.float32) for column in rows.T))


def exact(values: Any, weights: Any) -> Summary:
    """Return the summary of values, none of which is left out."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    is_new = np.concatenate([[True], values[1:] != values[:-1]])
    starts = np.flatnonzero(is_new)
    weight = np.zeros(len(starts), np.float32)
    np.add.at(weight, np.cumsum(is_new) - 1, weights)  # one after the other, in float32
    high = np.cumsum(weight, dtype=np.float32)
    low = np.concatenate([np.zeros(1, np.float32), high[:-1]])
    return Summary(values[starts], weight, low, high)


def specification(error: float, most: int) -> tuple[int, int]:
    """Return the maximum number of levels, and of entries in each."""
    if error <= _EXACT:
        return 1, max(most, 2)
    level, size = 1, 2
    while (1 << level) * size < most:
        size = math.ceil(level / error) + 1
        level += 1
    return level, max(size, 2)


class Stream:
    """Stream of values, and a summary of them so far.

    Args:
      error: the error of ranks, relative to the weight of all.
      most: how many values come at most.

    Attributes:
      levels: summaries, each of about twice as many values as the one before.

    Raises:
      InvalidArgumentError: if there is no such error.
    """

    def __init__(self, error: float, most: int) -> None:
        if not 0 < error < 1:
            raise refused("An epsilon value of zero is not allowed.")
        self.error = error
        _, self._size = specification(error, most)
        self._buffer = min(self._size << 1, most)
        self.levels: list[Summary] = []
        self._final: Summary | None = None

    @property
    def is_final(self) -> bool:
        return self._final is not None

    def push_values(self, values: Any, weights: Any) -> None:
        """Add values; those without weight are left out."""
        if not self.levels and (found := self._levels_of(values, weights)):
            self.levels = found
            return
        kept = weights > 0
        values, weights = values[kept], weights[kept]
        for begin in range(0, len(values), self._buffer):
            part = slice(begin, begin + self._buffer)
            self.push(exact(values[part], weights[part]))

    def _levels_of(self, values: Any, weights: Any) -> list[Summary]:
        """Return the levels of values that are the first; none without a native loop for them."""
        if (library := native.library()) is None:
            return []
        rows, counts = np.empty((len(values), 4), np.float32), np.zeros(64, np.int64)
        given = [np.ascontiguousarray(each, np.float32) for each in (values, weights)]
        used = library.summarize_values(
            *(each.ctypes.data for each in given), len(values), self._buffer, self._size,
            self.error, rows.ctypes.data, counts.ctypes.data,
        )  # fmt: skip
        ends = np.cumsum(counts[:used])
        return [summary_of(rows[end - n : end]) for end, n in zip(ends, counts, strict=False)]

    def push(self, summary: Summary) -> None:
        """Add a summary of values."""
        rising = summary.compress(self._size, self.error)
        level = 0
        while rising:
            if len(self.levels) <= level:
                self.levels.append(EMPTY)
            was_empty = not self.levels[level]
            rising = rising.merge(self.levels[level])
            if was_empty or rising.size <= self._size + 1:
                self.levels[level] = rising
                return
            self.levels[level] = EMPTY
            rising = rising.compress(self._size, self.error)
            level += 1

    def finish(self) -> Summary:
        """Return the summary of all that has come; nothing comes after that.

        Raises:
          InvalidArgumentError: if it was asked for before.
        """
        if self._final is not None:
            raise refused("Finalize() may only be called once.")
        self._final = merged(self.levels)
        self.levels = []
        return self._final


def distinct(values: Any) -> Array:
    """Values in order, each once."""
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def merged(levels: Sequence[Summary]) -> Summary:
    """Return the summary of all levels' values."""
    result = EMPTY
    for level in levels:
        result = result.merge(level)
    return result


class Streams:
    """Streams of several features, and the boundaries of buckets that were found.

    Args:
      error, most: as of `Stream`.
      count: how many features.
    """

    def __init__(self, error: float, most: int, count: int) -> None:
        self._settings = error, most
        self.count = count
        self.boundaries: list[Any] = [np.zeros(0, np.float32)] * count
        self.begin()

    def begin(self) -> None:
        """Forget all that has come; boundaries stay."""
        self.streams = [Stream(*self._settings) for _ in range(self.count)]
