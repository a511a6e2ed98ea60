"""Numbers of a GPU counted into the buckets of histograms there.

Only a few thousand counts are then copied to the host, for any amount of numbers, and nothing waits
in between: a CUDA graph may have all of it inside. One kernel does it where it can be compiled,
operations of torch do it elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.ops.summary import buckets, histogram_kernel
from stillflow.ops.summary.histogram_kernel import Counts

# Numbers that are counted at a time; meanwhile each of them takes 28 bytes.
_AT_ONCE = 1 << 21


@dataclass
class _Counted:
    """Statistics of some numbers, on their device."""

    counts: Any  # int32, by place
    sums: Any  # float64: of the numbers, and of their squares
    least: Any  # float32, without dimensions
    largest: Any

    def plus(self, more: _Counted) -> _Counted:
        return _Counted(
            self.counts + more.counts,
            self.sums + more.sums,
            torch.minimum(self.least, more.least),
            torch.maximum(self.largest, more.largest),
        )


class DeviceHistograms:
    """Histograms of tensors on a CUDA device.

    Args:
      device: the device.
    """

    def __init__(self, device: Any) -> None:
        self._by_operations = ByOperations(device)
        self._by_kernel = _kernel(device)

    def __call__(self, *values: Any) -> torch.Tensor:
        """Return the histogram of each of some tensors of float32 or float16.

        It is an int64 vector that begins with the bytes that `counted_summaries` of
        native/histogram.c takes.
        """
        vectors = [value.reshape(-1).float().contiguous() for value in values]
        if self._by_kernel is not None and histogram_kernel.fits(vectors):
            return self._by_kernel(vectors)
        return self._by_operations(vectors)


class ByOperations:
    """Replacement of `histogram_kernel` by operations of torch.

    Args:
      device: where the numbers are.
    """

    def __init__(self, device: Any) -> None:
        self._device, self._table = device, _table(device)

    def __call__(self, vectors: Sequence[Any]) -> torch.Tensor:
        """Return the histograms of float32 vectors, int64: sums, ends, then counts."""
        found: list[Any] = [None] * len(vectors)
        for block in _blocks([vector.numel() for vector in vectors]):
            parts = [vectors[row][start:end] for row, start, end in block]
            for (row, start, _), counted in zip(block, self._counted(parts), strict=True):
                found[row] = counted if start == 0 else found[row].plus(counted)
        found = [each or self._nothing() for each in found]
        sums = torch.cat([each.sums for each in found])
        ends = torch.stack([end for each in found for end in (each.least, each.largest)])
        parts = [sums.view(torch.int32), ends.view(torch.int32), *(each.counts for each in found)]
        return torch.cat(parts).view(torch.int64)

    def _nothing(self) -> _Counted:
        zeros = functools.partial(torch.zeros, device=self._device)
        counts = zeros(_row(), dtype=torch.int32)
        return _Counted(counts, zeros(2, dtype=torch.float64), zeros(()), zeros(()))

    def _counted(self, parts: Sequence[Any]) -> Iterator[_Counted]:
        """Yield the statistics of each of some vectors, none of them empty."""
        numbers = torch.cat(list(parts)) if len(parts) > 1 else parts[0]
        keys = self._places(numbers)
        both = torch.empty((2, numbers.numel()), dtype=torch.float64, device=self._device)
        both[0] = numbers
        torch.mul(both[0], both[0], out=both[1])
        end = 0
        for part in parts:
            start, end = end, end + part.numel()
            # Between ends that are given nothing waits; whole numbers are counted exactly.
            counts = torch.histc(keys[start:end], _row(), 0, _row())
            yield _Counted(counts, both[:, start:end].sum(1), *torch.aminmax(part))

    def _places(self, numbers: Any) -> torch.Tensor:
        """Return the buckets of float32 numbers: `Places` of buckets.py."""
        bits = numbers.view(torch.int32)
        upper = (bits >> 16).bitwise_and_(0xFFFF)
        keys = self._table.index_select(0, upper)
        return keys.add_(bits).bitwise_right_shift_(16)


def _row() -> int:
    """Return the number of counts per tensor: an even number; the last may have no bucket."""
    return buckets.places().count + 1 & ~1


@functools.cache
def _table(device: Any) -> torch.Tensor:
    """Return the table of `Places`, on a device."""
    return torch.from_numpy(buckets.places().table.view(np.int32)).to(device)


@functools.cache
def _kernel(device: Any) -> Counts | None:
    """Return the kernel of a device; None where there is none that counts as torch does."""
    if device.type != "cuda":
        return None
    try:
        found = histogram_kernel.counting(device, _table(device), buckets.places().count, _row())
        return found if is_right(found, device) else None
    except Exception:  # it is of a part of PyTorch that is free to change
        return None


def is_right(counts: Counts, device: Any) -> bool:
    """Return True if a function of `histogram_kernel.counting` counts as torch's operations do."""
    waves = torch.sin(torch.arange(5000.0, device=device))
    scaled = [waves * 10.0**power for power in range(-20, 25, 5)]
    some = [each[:size] for size, each in enumerate(scaled)]
    vectors = [*scaled, *some, torch.zeros(5000, device=device)]
    vectors *= 2  # more than one launch counts
    wanted, found = ByOperations(device)(vectors), counts(vectors)
    sums, rest = 2 * len(vectors), wanted.numel()
    if not torch.equal(found[sums:rest], wanted[sums:]):
        return False
    pairs = (found[:sums].view(torch.float64), wanted[:sums].view(torch.float64))
    return bool(torch.allclose(*pairs, rtol=1e-9, atol=0))


def _blocks(sizes: Sequence[int]) -> Iterator[list[tuple[int, int, int]]]:
    """Parts of vectors that are counted together: (number of the vector, start, end)."""
    block: list[tuple[int, int, int]] = []
    room = _AT_ONCE
    for row, size in enumerate(sizes):
        start = 0
        while start < size:
            end = min(size, start + room)
            block.append((row, start, end))
            room -= end - start
            start = end
            if not room:
                yield block
                block, room = [], _AT_ONCE
    if block:
        yield block


def extremes(counted: Any, rows: int) -> Any:
    """Return the least and largest number of each tensor, float32 [rows, 2], in NumPy.

    `counted` is the result of `DeviceHistograms`, on the host.
    """
    return counted[2 * rows : 3 * rows].numpy().view(np.float32).reshape(rows, 2)
