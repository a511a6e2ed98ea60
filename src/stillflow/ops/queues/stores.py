"""Stores of queues' elements, which decide the order of removal."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

from stillflow.graph.arrays import Array
from stillflow.graph.lazy import torch
from stillflow.ops.queues import elements as elements_lib
from stillflow.ops.queues.elements import Stacked
from stillflow.ops.queues.slots import Slots
from stillflow.ops.random.philox import Philox
from stillflow.util import binary_heap

_WORDS = 256


class FifoStore:
    """First in, first out; batches stay whole until somebody wants a part of them."""

    reserved = 0  # how many elements stay in until the queue is closed
    keeps_batches = True

    def __init__(self) -> None:
        self._parts: deque[Any] = deque()  # elements, and batches of them
        self._more = 0  # how many elements batches hold beyond one each
        self.put = self._parts.append

    def __len__(self) -> int:
        return len(self._parts) + self._more

    def put_batch(self, batch: Stacked) -> None:
        """Put elements in that are stacked, in memory of their own; one at least."""
        self._parts.append(batch)
        self._more += len(batch) - 1

    def take(self) -> tuple[torch.Tensor | Array, ...]:
        part = self._parts.popleft()
        if type(part) is not Stacked:
            return part
        # Who wants one element will want the others singly too.
        self._more -= len(part) - 1
        self._parts.extendleft(reversed(list(part)))
        return self._parts.popleft()

    def take_many(self, count: int) -> list[Any]:
        """Remove elements, and whole batches, `count` elements in all."""
        taken: list[Any] = []
        while count:
            part = self._parts.popleft()
            size = len(part) if type(part) is Stacked else 1
            if size > count:
                self._parts.appendleft(part[count:])
                part, size = part[:count], count
                self._more -= count
            else:
                self._more -= size - 1
            taken.append(part)
            count -= size
        return taken

    def give_back(self, parts: list[Any]) -> None:
        """Put the elements taken last back."""
        self._parts.extendleft(reversed(parts))
        self._more += elements_lib.count(parts) - len(parts)


class ShuffleStore:
    """Store with random removal; seeds and history give the same order as TensorFlow's.

    Components of batches lie in slots, which elements name by their numbers.
    """

    keeps_batches = True

    def __init__(self, reserved: int, seed: int, seed2: int) -> None:
        self.reserved = reserved
        self.seeds = (seed, seed2)
        self._elements: list[Any] = []
        self._slots = Slots()
        self.put = self._elements.append
        self._words = self._draw(Philox.from_seeds(seed, seed2))

    @staticmethod
    def _draw(stream: Philox) -> Iterator[int]:
        while True:
            yield from stream.words(_WORDS).tolist()
            stream.skip(_WORDS // 4)

    def __len__(self) -> int:
        return len(self._elements)

    def put_batch(self, batch: Stacked) -> None:
        """Put elements in that are stacked; their memory may be used again afterwards."""
        if self._slots.fit(batch.components):
            self._elements += self._slots.put(batch.components)
        else:
            self._elements += batch

    def take(self) -> Any:
        element = self._drawn()
        if type(element) is int:
            return next(iter(Stacked(self._slots.take([element]))))
        return element

    def take_many(self, count: int) -> list[Any]:
        """Remove elements; those that came in batches come stacked."""
        drawn = [self._drawn() for _ in range(count)]
        taken: list[Any] = []
        for in_slots, group in itertools.groupby(drawn, lambda element: type(element) is int):
            some = list(group)
            slots = [element for element in some if isinstance(element, int)]
            taken += [Stacked(self._slots.take(slots))] if in_slots else some
        return taken

    def _drawn(self) -> int | tuple[torch.Tensor | Array, ...]:
        elements = self._elements
        index = next(self._words) % len(elements)
        last = elements.pop()
        if index == len(elements):
            return last
        taken, elements[index] = elements[index], last
        return taken

    def give_back(self, parts: list[Any]) -> None:
        elements = [each for part in parts for each in (part if type(part) is Stacked else [part])]
        self._elements.extend(reversed(elements))


class PriorityStore:
    """Smallest first component first."""

    reserved = 0
    keeps_batches = False

    def __init__(self) -> None:
        self._heap: list[tuple[int, Any]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, element: Any) -> None:
        binary_heap.push(self._heap, (-int(element[0]), element))

    def take(self) -> tuple[torch.Tensor | Array, ...]:
        return binary_heap.pop(self._heap)[1]

    def take_many(self, count: int) -> list[Any]:
        return [self.take() for _ in range(count)]

    def give_back(self, elements: list[Any]) -> None:
        for element in elements:
            self.put(element)
