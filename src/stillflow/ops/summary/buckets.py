"""Numbers counted into the buckets of a histogram: a `HistogramProto`, serialized."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.lazy import torch
from stillflow.ops.summary.encoding import doubles, packed

Array = np.ndarray[Any, Any]
_MANY = 1 << 12  # from here on torch adds faster than NumPy


@functools.cache
def bucket_limits() -> Array:
    """The upper ends of the buckets: 0, powers of 1.1 from 1e-12 to 1e20 and their negatives."""
    powers = []
    limit = 1e-12
    while limit < 1e20:
        powers.append(limit)
        limit *= 1.1  # so rounded, not as 1.1**n
    powers.append(sys.float_info.max)
    return np.array([*(-power for power in reversed(powers)), 0.0, *powers])


@functools.cache
def _float32_limits() -> Array:
    """The least float32 that is not below each limit: as many float32 are below either."""
    limits = bucket_limits()
    with np.errstate(over="ignore"):
        near = limits.astype(np.float32)
        return np.where(near < limits, np.nextafter(near, np.float32(np.inf)), near)


def histogram(values: Array, name: str) -> bytes:
    """Counts numbers into buckets.

    Args:
      values: real numbers, a vector.
      name: what the operation is called, for errors.

    Raises:
      InvalidArgumentError: if one of them is not finite.
    """
    if not values.size:
        biggest = sys.float_info.max
        return doubles(biggest, -biggest) + _encoded(np.zeros(bucket_limits().size, np.int64))
    narrow = values.dtype in (np.float32, np.float16)
    ordered = np.sort(values.astype(np.float32 if narrow else np.float64, copy=False))
    low, high = float(ordered[0]), float(ordered[-1])
    if not (-np.inf < low and high < np.inf):  # NaN comes last
        first = values[np.isfinite(values).argmin()]
        what = "Nan" if np.isnan(first) else "Infinity"
        raise errors.InvalidArgumentError(None, None, f"{what} in summary histogram for: {name}")
    counts = _counts(ordered, _float32_limits() if narrow else bucket_limits())
    return doubles(low, high, float(values.size), *_sums(values)) + _encoded(counts)


def histogram_message(sums: tuple[float, ...], counts: Array) -> bytes:
    """A histogram of numbers that were counted before.

    Args:
      sums: the least and the largest number, how many there are, their sum and that of squares.
      counts: how many are in each bucket.
    """
    return doubles(*sums) + _encoded(counts)


def _counts(ordered: Array, limits: Array) -> Array:
    """How many of some numbers are in each bucket; the last one takes the largest number too."""
    last = len(limits) - 1
    if ordered.size < len(limits):
        buckets = np.searchsorted(limits, ordered, side="right")
        return np.bincount(np.minimum(buckets, last, out=buckets), minlength=len(limits))
    below = np.searchsorted(ordered, limits)
    below[last] = ordered.size
    below[1:] -= below[:-1].copy()
    return below


def _sums(values: Array) -> tuple[float, float]:
    """The sum and the sum of squares, in float64, added one after the other.

    Sums of halves and the like, which NumPy would take, are rounded otherwise.
    """
    numbers = values.astype(np.float64)
    if values.size < _MANY:
        with np.errstate(over="ignore"):
            total = np.add.accumulate(numbers)[-1]
            squares = np.add.accumulate(np.square(numbers, out=numbers))[-1]
        return float(total), float(squares)
    tensor = torch.from_numpy(numbers)
    running = torch.cumsum(tensor, 0)
    result = running[-1].item()
    tensor.mul_(tensor)
    return result, torch.cumsum(tensor, 0, out=running)[-1].item()


def _encoded(counts: Array) -> bytes:
    """The fields of limits and counts: of several empty buckets in a row only the last."""
    kept = counts > 0
    kept[:-1] |= kept[1:]
    kept[-1] = True
    return packed(6, bucket_limits()[kept]) + packed(7, counts[kept].astype(np.float64))
