"""The largest elements of rows as TensorFlow's heap holds them.

That is the order of `top_k(sorted=False)`. Where some elements are NaN, which compare with nothing,
the result depends on the heap's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

_Before = Callable[[int, int], bool]


def _kinds() -> list[Any]:
    """Return the types that the loop knows, by its numbers."""
    return [torch.int64, torch.float64, torch.float32]


def find_largest(keys: Any, count: int, in_order: bool) -> torch.Tensor:
    """Return the indices of the largest elements of each row of `keys`, int64 [..., count].

    Without `in_order` they come as they lie in the heap. There are more columns than `count`.
    """
    kind = keys.dtype if keys.is_floating_point() else torch.int64
    rows = keys.to(kind if kind in _kinds() else torch.float32).contiguous()
    rows = rows.reshape(-1, rows.shape[-1])
    if native_calls.reach(rows):
        library: Any = native.library()
        found = torch.empty((len(rows), count + 1), dtype=torch.int32)
        library.find_largest(
            rows.data_ptr(), _kinds().index(rows.dtype), *rows.shape, count, in_order,
            found.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
        where = found[:, :count].long()
    else:
        taken = [_of_row(row, count, in_order) for row in rows.tolist()]
        where = torch.tensor(taken, dtype=torch.int64, device=keys.device)
    return where.reshape(*keys.shape[:-1], count)


def _of_row(row: list[float], count: int, in_order: bool) -> list[int]:
    def goes_before(a: int, b: int) -> bool:
        if row[b] < row[a]:
            return True
        return not row[b] > row[a] and a < b

    heap = list(range(count + 1))
    for place in range((count - 1) // 2, -1, -1):
        _settle(heap, place, len(heap), heap[place], goes_before)
    _pop(heap, len(heap), goes_before)
    for index in range(count + 1, len(row)):
        if goes_before(index, heap[0]):
            heap[-1] = index
            _pop(heap, len(heap), goes_before)
    for left in range(count, 1, -1) if in_order else ():
        _pop(heap, left, goes_before)
    return heap[:count]


def _settle(heap: list[int], hole: int, size: int, item: int, goes_before: _Before) -> None:
    """Put an item where a heap has a hole: down to a leaf first, then up again."""
    top = hole
    while (child := 2 * hole + 2) < size:
        if goes_before(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if child == size:
        heap[hole] = heap[child - 1]
        hole = child - 1
    while hole > top and goes_before(heap[(hole - 1) // 2], item):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = item


def _pop(heap: list[int], size: int, goes_before: _Before) -> None:
    """Move the first item of a heap to its end, which it leaves."""
    item = heap[size - 1]
    heap[size - 1] = heap[0]
    _settle(heap, 0, size - 1, item, goes_before)
