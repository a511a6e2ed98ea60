"""Staging areas while they run: queues without an end, and maps from keys to tuples."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.lazy import torch
from stillflow.ops.queues.attempts import Attempt, Attempts

Tuple = tuple[Any, ...]


def _bytes_of(element: Sequence[Any]) -> int:
    """Return the memory size of an element."""
    total = 0
    for value in element:
        if isinstance(value, np.ndarray):
            total += sum(map(len, value.reshape(-1).tolist()))
        elif value is not None:
            total += value.numel() * value.element_size()
    return total


class _Area:
    """Common part of staging areas: limits (0 for none) of elements and bytes, and waiting."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self.capacity = capacity
        self.memory_limit = memory_limit
        self.bytes = 0
        self.attempts = Attempts()

    def check_fits(self, size: int) -> None:
        """Raise an error for an element that can never fit.

        Raises:
          ResourceExhaustedError: if so.
        """
        if 0 < self.memory_limit < size:
            raise errors.resource_exhausted(
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging "
                f"Area with a memory limit of '{self.memory_limit}'."
            )

    def has_room(self, count: int, size: int) -> bool:
        full = 0 < self.capacity <= count
        return not full and not 0 < self.memory_limit < self.bytes + size

    def wait_to_put(self, run: Any, waits: Any) -> None:
        self.attempts.submit(_Wish("Stage", run), self.attempts.putting, waits)

    def wait_to_take(self, run: Any, waits: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the result of `run` as soon as it is not None."""
        wish = _Wish("Unstage", run)
        # Who waits for one key must not keep others from theirs: each has a line of its own.
        line = self.attempts.add_line()
        try:
            self.attempts.submit(wish, line, waits)
        finally:
            self.attempts.remove_line(line)
        return wish.taken[0]


class _Wish(Attempt):
    """Tried until its function gives something."""

    __slots__ = ("function",)

    def __init__(self, kind: str, function: Any) -> None:
        super().__init__(kind, 1)
        self.function = function

    def run(self) -> bool | None:
        try:
            found = self.function()
        except errors.OpError as error:
            return self.finish(error)
        if found is None:
            return False
        self.taken = [found]
        return self.finish()


class StagingQueue(_Area):
    """Elements that come out in the order they came in."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._elements: deque[Tuple] = deque()

    def put(self, element: Tuple, waits: Any) -> None:
        """Put an element in, waiting while it is full."""
        size = _bytes_of(element)
        self.check_fits(size)

        def run() -> Any:
            if not self.has_room(len(self._elements), size):
                return None
            self._elements.append(element)
            self.bytes += size
            return True

        self.wait_to_put(run, waits)

    def take(self, waits: Any) -> Tuple:
        """Remove and return the first element, waiting while there is none."""

        def run() -> Any:
            if not self._elements:
                return None
            element = self._elements.popleft()
            self.bytes -= _bytes_of(element)
            return element

        taken: Tuple = self.wait_to_take(run, waits)
        return taken

    def peek(self, index: int, waits: Any) -> Tuple:
        """Return the element at a place, waiting while there is none."""

        def run() -> Any:
            return self._elements[index] if index < len(self._elements) else None

        found: Tuple = self.wait_to_take(run, waits)
        return found

    def clear(self) -> None:
        with self.attempts.lock:
            self._elements.clear()
            self.bytes = 0
            self.attempts._flush()

    def __len__(self) -> int:
        return len(self._elements)


class StagingMap(_Area):
    """Tuples by key; their components may come in, and go out, one by one.

    Args:
      ordered: whether the smallest key comes out first, where none is asked for.
      size: how many components a tuple has.
    """

    def __init__(self, capacity: int, memory_limit: int, ordered: bool, size: int) -> None:
        super().__init__(capacity, memory_limit)
        self.ordered = ordered
        self.size = size
        self._ready: OrderedDict[int, list[Any]] = OrderedDict()
        self._incomplete: dict[int, list[Any]] = {}

    def put(self, key: int, indices: Sequence[int], values: Tuple, waits: Any) -> None:
        """Put components of a tuple in.

        Raises:
          InvalidArgumentError: one is there already, or an index is out of range.
        """
        self._check(indices)
        size = _bytes_of(values)
        self.check_fits(size)
        if len(set(indices)) == self.size and key in self._ready:
            raise errors.invalid_argument(
                f"The tensor with key '{key}' has already been inserted in a staging area."
            )

        def run() -> bool | None:
            known = key in self._incomplete
            count = len(self._ready) + len(self._incomplete)
            if not self.has_room(0 if known else count, size):
                return None
            self._insert(key, indices, values)
            self.bytes += size
            return True

        self.wait_to_put(run, waits)

    def _insert(self, key: int, indices: Sequence[int], values: Tuple) -> None:
        element = self._incomplete.setdefault(key, [None] * self.size)
        for index, value in zip(indices, values, strict=True):
            if element[index] is not None:
                raise errors.invalid_argument(
                    f"The tensor for index '{index}' for key '{key}' was already initialized "
                    f"'{self.size}'."
                )
            element[index] = value
        if all(value is not None for value in element):
            self._ready[key] = self._incomplete.pop(key)

    def _check(self, indices: Sequence[int]) -> None:
        if not indices:
            raise errors.invalid_argument("Indices must be supplied")
        for index in indices:
            if index < 0 or 0 < self.size <= index:
                raise errors.invalid_argument(f"Index '{index}' is out of bounds")

    def _parts(self, key: int, indices: Sequence[int], remove: bool) -> Tuple:
        element = self._ready[key]
        for index in indices:
            if element[index] is None:
                raise errors.invalid_argument(
                    f"Tensor at index '{index}' for key '{key}' has already been removed."
                )
        parts = tuple(element[index] for index in indices)
        if remove:
            self.bytes -= _bytes_of(parts)
            for index in indices:
                element[index] = None
            if all(value is None for value in element):
                del self._ready[key]
        return parts

    def take(self, key: int, indices: Sequence[int], waits: Any, remove: bool = True) -> Tuple:
        """Components of a tuple, waiting until it is complete."""
        self._check(indices)

        def run() -> tuple[Any, ...] | None:
            return self._parts(key, indices, remove) if key in self._ready else None

        found: Tuple = self.wait_to_take(run, waits)
        return found

    def take_any(self, indices: Sequence[int], waits: Any) -> tuple[int, Tuple]:
        """Return a key, and components of its tuple, waiting until one is complete."""
        self._check(indices)

        def run() -> tuple[Any, tuple[Any, ...]] | None:
            if not self._ready:
                return None
            key = min(self._ready) if self.ordered else next(iter(self._ready))
            return key, self._parts(key, indices, remove=True)

        found: tuple[int, Tuple] = self.wait_to_take(run, waits)
        return found

    def clear(self) -> None:
        with self.attempts.lock:
            self._ready.clear()
            self._incomplete.clear()
            self.bytes = 0
            self.attempts._flush()

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def incomplete(self) -> int:
        """The number of incomplete tuples."""
        return len(self._incomplete)
