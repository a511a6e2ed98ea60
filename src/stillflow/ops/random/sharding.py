"""TF 1.15's division of work among threads, where results depend on it.

Nearly all random kernels give every output its own part of the stream. Multinomial, the normals
within bounds and the binomial draws give one to every shard of rows, and draw a shard's rows one
after another. To draw the same numbers, the same shards are needed, so large draws depend on the
number of threads here as they do in TF.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_STARTUP_CYCLES = 100_000
_CYCLES_PER_THREAD = 100_000
_CYCLES_PER_TASK = 40_000
_OVERSHARDING = 4


def host_threads() -> int:
    """Return the number of threads that TF would use on this machine by default."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shards(total: int, cost: float, threads: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, stop) pairs into which `total` units of `cost` cycles each are divided."""
    size = _shard_size(total, cost, threads)
    ranges = [(0, total)]
    while ranges:
        start, stop = ranges.pop()
        if stop - start <= size:
            yield start, stop
            continue
        # Halves are rounded up to whole shards.
        middle = start + _divide_up((stop - start) // 2, size) * size
        ranges += [(middle, stop), (start, middle)]


def _shard_size(total: int, cost: float, threads: int) -> int:
    wanted = int((total * cost - _STARTUP_CYCLES) / _CYCLES_PER_THREAD + 0.9)
    if total <= 1 or min(threads, max(1, wanted)) == 1:
        return total
    smallest = int(_CYCLES_PER_TASK / cost) if cost > 0 else total
    size = min(total, max(_divide_up(total, _OVERSHARDING * threads), smallest))
    largest = min(total, 2 * size)
    count = _divide_up(total, size)
    best = _efficiency(count, threads)
    tried = count
    while best < 1.0 and tried > 1:
        coarser = _divide_up(total, tried - 1)
        if coarser > largest:
            break
        tried = _divide_up(total, coarser)
        efficiency = _efficiency(tried, threads)
        if efficiency + 0.01 >= best:
            size = coarser
            best = max(best, efficiency)
    return size


def _efficiency(count: int, threads: int) -> float:
    return count / (_divide_up(count, threads) * threads)


def _divide_up(a: int, b: int) -> int:
    return -(-a // b)
