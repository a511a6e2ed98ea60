"""The order in which a binary heap hands out items of equal priority.

Non-maximum suppression takes candidates from a heap, and priority queues are one. Where priorities
are equal, which item comes first depends on how the heap is kept; this one is kept as the C++
standard library of GCC keeps it.
"""

from __future__ import annotations

from typing import Any


def push(heap: list[Any], item: Any) -> None:
    """Add an item, whose first element is its priority."""
    heap.append(item)
    _rise(heap, len(heap) - 1, item)


def pop(heap: list[Any]) -> Any:
    """Remove and return the item of the highest priority."""
    top, last = heap[0], heap.pop()
    if heap:
        _sink(heap, last)
    return top


def _rise(heap: list[Any], hole: int, item: Any) -> None:
    while hole > 0:
        parent = (hole - 1) // 2
        if not heap[parent][0] < item[0]:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = item


def _sink(heap: list[Any], item: Any) -> None:
    """Move the hole at the top down to a leaf along the larger children, then `item` up."""
    length, hole, child = len(heap), 0, 0
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    _rise(heap, hole, item)
