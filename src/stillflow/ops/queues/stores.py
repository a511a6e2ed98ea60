"""What a queue keeps its elements in, which decides the order they come out in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from stillflow.ops import heaps
from stillflow.ops.random.philox import Philox

_WORDS = 256


class FifoStore:
    """First in, first out."""

    reserved = 0  # how many elements stay in until the queue is closed

    def __init__(self) -> None:
        self._elements: deque[Any] = deque()
        self.put = self._elements.append
        self.take = self._elements.popleft

    def __len__(self) -> int:
        return len(self._elements)

    def give_back(self, elements: list[Any]) -> None:
        """Puts elements back that were taken last."""
        self._elements.extendleft(reversed(elements))


class ShuffleStore:
    """Takes at random; the same seeds and history give the same order as TensorFlow's."""

    def __init__(self, reserved: int, seed: int, seed2: int) -> None:
        self.reserved = reserved
        self.seeds = (seed, seed2)
        self._elements: list[Any] = []
        self.put = self._elements.append
        self._words = self._draw(Philox.from_seeds(seed, seed2))

    @staticmethod
    def _draw(stream: Philox) -> Iterator[int]:
        while True:
            yield from stream.words(_WORDS).tolist()
            stream.skip(_WORDS // 4)

    def __len__(self) -> int:
        return len(self._elements)

    def take(self) -> Any:
        elements = self._elements
        index = next(self._words) % len(elements)
        last = elements.pop()
        if index == len(elements):
            return last
        taken, elements[index] = elements[index], last
        return taken

    def give_back(self, elements: list[Any]) -> None:
        self._elements.extend(reversed(elements))


class PriorityStore:
    """Smallest first component first."""

    reserved = 0

    def __init__(self) -> None:
        self._heap: list[tuple[int, Any]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, element: Any) -> None:
        heaps.push(self._heap, (-int(element[0]), element))

    def take(self) -> Any:
        return heaps.pop(self._heap)[1]

    def give_back(self, elements: list[Any]) -> None:
        for element in elements:
            self.put(element)
