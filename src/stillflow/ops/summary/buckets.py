"""Numbers counted into the buckets of a histogram: a `HistogramProto`, serialized."""

from __future__ import annotations

import functools
import sys

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.lazy import torch
from stillflow.ops.summary.encoding import doubles, packed

_MANY = 1 << 12  # from here on torch adds faster than NumPy, and a table is worth its overhead
_CACHED = 1 << 17  # so many numbers at a time stay near the processor


@functools.cache
def bucket_limits() -> Array:
    """Return the buckets' upper ends: 0, powers of 1.1 from 1e-12 to 1e20 and their negatives."""
    powers = []
    limit = 1e-12
    while limit < 1e20:
        powers.append(limit)
        limit *= 1.1  # so rounded, not as 1.1**n
    powers.append(sys.float_info.max)
    return np.array([*(-power for power in reversed(powers)), 0.0, *powers])


@functools.cache
def _float32_limits() -> Array:
    """Return the least float32 that is not below each limit: as many float32 are below either."""
    limits = bucket_limits()
    with np.errstate(over="ignore"):
        near = limits.astype(np.float32)
        return np.where(near < limits, np.nextafter(near, np.float32(np.inf)), near)


class Places:
    """Buckets of float32 numbers, found from their bits.

    Bits without the sign grow with the magnitude. The upper 16 of them leave an interval in which
    at most one limit lies, so a table says for each such half which bucket it is, and how far its
    lower half is from the limit: added to the table's entry, it carries over into the next bucket.

    Places are counted away from zero: first positive numbers, then negative ones. Both end with one
    for non-finite numbers, and -0.0 has its own before the negative ones.
    """

    def __init__(self) -> None:
        limits = _float32_limits()
        self.positive = len(limits) // 2  # so many limits are above zero, as many below
        up = limits[self.positive + 1 :].view(np.uint32)
        down = np.abs(limits[self.positive :: -1]).view(np.uint32) + 1  # not at the limit, below
        entries = [self._entries(up, 0), self._entries(down, len(up) + 1)]
        table = (np.concatenate(entries) - (np.arange(1 << 16) << 16)) & 0xFFFFFFFF
        self.table = table.astype(np.uint32)
        self.count = len(up) + len(down) + 2

    @staticmethod
    def _entries(limits: Array, first: int) -> Array:
        """Return the entries of one sign: a place, and the distance to the next one, in 16 bits."""
        starts = np.arange(1 << 15) << 16
        place = np.searchsorted(limits, starts, side="right")
        following = np.append(limits.astype(np.int64), 1 << 32)[place]
        return (first + place << 16) + np.maximum(starts + (1 << 16) - following, 0)

    def counts(self, values: Array) -> Array | None:
        """Count float32 numbers by bucket; None if one of them is not finite."""
        bits = values.view(np.uint32)
        upper = torch.from_numpy((bits >> 16).view(np.int32))
        table = torch.from_numpy(self.table.view(np.int32))
        keys = table.index_select(0, upper).numpy().view(np.uint32)
        keys += bits
        keys >>= 16
        found = torch.bincount(torch.from_numpy(keys.view(np.int32)), minlength=self.count).numpy()
        zero = self.positive + 1
        if found[zero - 1] or found[-1]:
            return None
        result = np.concatenate([found[:zero:-1], found[: zero - 1]])
        result[zero] += found[zero]  # -0.0 is in no other bucket than 0.0
        return result


places = functools.cache(Places)


def histogram(values: Array) -> bytes | None:
    """Count numbers by bucket; None if one of them is not finite."""
    return _counted(values) if values.size else _empty()


def _empty() -> bytes:
    biggest = sys.float_info.max
    return doubles(biggest, -biggest) + _encoded(np.zeros(bucket_limits().size, np.int64))


def _counted(values: Array) -> bytes | None:
    """Return a histogram of at least one number; None if one of them is not finite."""
    if values.dtype not in (np.float32, np.float16):
        counts = _counts(values.astype(np.float64, copy=False), bucket_limits())
    elif values.size < _MANY:
        counts = _counts(values.astype(np.float32, copy=False), _float32_limits())
    else:
        counts = places().counts(np.ascontiguousarray(values, np.float32))
    if counts is None:
        return None
    sums = (float(values.min()), float(values.max()), float(values.size), *_sums(values))
    return histogram_message(sums, counts)


def histogram_message(sums: tuple[float, ...], counts: Array) -> bytes:
    """Return a histogram of numbers that were counted before by bucket.

    `sums` are the least and largest number, how many there are, their sum and that of squares.
    """
    return doubles(*sums) + _encoded(counts)


def _counts(values: Array, limits: Array) -> Array | None:
    """Count numbers by bucket; None if one of them is not finite."""
    ordered = np.sort(values)
    if not (-np.inf < ordered[0] and ordered[-1] < np.inf):  # NaN comes last
        return None
    last = len(limits) - 1  # this one takes the largest number too
    if ordered.size < len(limits):
        buckets = np.searchsorted(limits, ordered, side="right")
        return np.bincount(np.minimum(buckets, last, out=buckets), minlength=len(limits))
    below = np.searchsorted(ordered, limits)
    below[last] = ordered.size
    below[1:] -= below[:-1].copy()
    return below


def _sums(values: Array) -> tuple[float, float]:
    """Return the sum and the sum of squares, in float64, added one after the other.

    Sums of halves and the like, which NumPy would take, are rounded otherwise.
    """
    totals = np.zeros(2)
    with np.errstate(over="ignore"):
        for start in range(0, values.size, _CACHED):
            some = values[start : start + _CACHED]
            both = np.empty((2, some.size))
            both[0] = some
            np.square(both[0], out=both[1])
            both[:, 0] += totals
            totals = _running_sums(both)[:, -1]
    return float(totals[0]), float(totals[1])


def _running_sums(rows: Array) -> Array:
    """Return the running sums of each row."""
    if rows.shape[1] < _MANY:
        return np.add.accumulate(rows, axis=1)
    running: Array = torch.from_numpy(rows).cumsum_(1).numpy()
    return running


def _encoded(counts: Array) -> bytes:
    """Return the fields of limits and counts: of several empty buckets in a row only the last."""
    kept = counts > 0
    kept[:-1] |= kept[1:]
    kept[-1] = True
    return packed(6, bucket_limits()[kept]) + packed(7, counts[kept].astype(np.float64))
