"""Memory for the elements of queues that are taken in any order, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.lazy import torch


class Slots:
    """One array for each component, whose rows are elements; as many as there were at a time."""

    def __init__(self) -> None:
        self._columns: list[Any] = []
        self._free: list[int] = []

    def fit(self, components: Sequence[Any]) -> bool:
        """Return True if a batch can be put in: its rows are as all before."""
        if not self._columns:
            return True
        return all(
            _kind(column) == _kind(component)
            for column, component in zip(self._columns, components, strict=True)
        )

    def put(self, components: Sequence[Any]) -> list[int]:
        """Copy a batch, which fits, into free slots, and return their numbers."""
        count = len(components[0])
        if not self._columns:
            self._columns = [component[:0] for component in components]
        if count > len(self._free):
            self._grow(count - len(self._free))
        slots = self._free[-count:]
        del self._free[-count:]
        for column, component in zip(self._columns, components, strict=True):
            if isinstance(column, np.ndarray):
                column[slots] = component
            else:
                column.index_copy_(0, torch.tensor(slots, device=column.device), component)
        return slots

    def take(self, slots: list[int]) -> tuple[Any, ...]:
        """Return a batch of some slots' contents, and free the slots."""
        taken = tuple(self._taken(column, slots) for column in self._columns)
        self._free += slots
        return taken

    @staticmethod
    def _taken(column: Any, slots: list[int]) -> Any:
        if isinstance(column, np.ndarray):
            taken = column[slots]
            column[slots] = None  # lets the strings go
            return taken
        return column.index_select(0, torch.tensor(slots, device=column.device))

    def _grow(self, count: int) -> None:
        """Make room for some more, a quarter at least, as queues fill up to their capacity."""
        size = len(self._columns[0])
        count = max(count, size // 4)
        self._free += range(size, size + count)
        self._columns = [_longer(column, count) for column in self._columns]


def _kind(values: Any) -> tuple[Any, ...]:
    return (type(values), tuple(values.shape[1:]), values.dtype, getattr(values, "device", None))


def _longer(column: Any, count: int) -> torch.Tensor | Array:
    shape = (count, *column.shape[1:])
    if isinstance(column, np.ndarray):
        return np.concatenate([column, np.empty(shape, object)])
    return torch.cat([column, column.new_empty(shape)])
