"""Datasets in random order: ShuffleDataset, ShuffleAndRepeatDataset.

From the same seeds they give TensorFlow's order, epoch after epoch.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator
from typing import Any

from stillflow.graph.node import Node
from stillflow.ops.data.counting import _repeated
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Element,
    Elements,
    as_dataset,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.sources import words
from stillflow.ops.random.philox import Philox

_SEEDS = "buffer_size: int64, seed: int64, seed2: int64"
_MAX_EPOCHS_IN_BUFFER = 3

shuffle_dataset_op = unary(
    "ShuffleDataset", _SEEDS, f"\nreshuffle_each_iteration: bool = true{TYPED}"
)
shuffle_and_repeat_dataset_op = unary("ShuffleAndRepeatDataset", f"{_SEEDS}, count: int64", TYPED)


def stream(seed: int, seed2: int) -> Iterator[int]:
    """The random numbers that two seeds stand for, also if both are 0."""
    return words(Philox(seed, 0, seed2))


class Shuffling:
    """Draws from a buffer that is refilled; elements of different epochs do not mix.

    Args:
      size: of the buffer.
      count: how many epochs there are, -1 for no end.
      numbers: random numbers.
    """

    def __init__(self, start: Any, size: int, count: int, numbers: Iterator[int]) -> None:
        self.start = start
        self.size = size
        self.count = count
        self.numbers = numbers
        self.buffer: dict[int, Element] = {}  # by position in an endless row
        self.slices: deque[list[int]] = deque([[0, 0]])  # of the row, one for each epoch
        self.epoch = 0
        self.source: Elements | None = None

    def __iter__(self) -> Shuffling:
        return self

    def __next__(self) -> Element:
        first = self.source is None and self.epoch == 0
        if first:
            self.source = self.start()
        while self.source is not None and len(self.buffer) < self.size:
            self._add(first)
            first = False
            if len(self.slices) > _MAX_EPOCHS_IN_BUFFER:
                break
        if not self.buffer:
            raise StopIteration
        while self.slices[0][0] == self.slices[0][1]:
            self.slices.popleft()
        place = self.slices[0]
        low, high = place
        chosen = low + next(self.numbers) % (high - low)
        element = self.buffer.pop(low)
        if chosen != low:
            element, self.buffer[chosen] = self.buffer[chosen], element
        place[0] = low + 1
        return element

    def _add(self, first: bool) -> None:
        """Takes one more element, beginning the next epoch where the last one is over."""
        while self.count == -1 or self.epoch < self.count:
            assert self.source is not None
            try:
                element = next(self.source)
            except StopIteration:
                if first and self.count == -1:
                    self.source = None
                    return
                self.epoch += 1
                end = self.slices[-1][1]
                self.slices.append([end, end])
                self.source = self.start()
                continue
            place = self.slices[-1]
            self.buffer[place[1]] = element
            place[1] += 1
            return
        self.source = None


def _arguments(size: Any, seed: Any, seed2: Any) -> tuple[int, int, int]:
    if scalar(size) <= 0:
        raise invalid("buffer_size must be greater than zero.")
    seeds = scalar(seed), scalar(seed2)
    if seeds == (0, 0):
        seeds = secrets.randbits(63), secrets.randbits(63)
    return scalar(size), *seeds


@shuffle_dataset_op.kernel
def shuffle_dataset_kernel(node: Node) -> Any:
    again = node.reshuffle_each_iteration

    def run(value: Any, *numbers: Any) -> Dataset:
        source = as_dataset(value)
        size, seed, seed2 = _arguments(*numbers)

        def make(context: Context, prefix: str) -> Elements:
            seeds = seed, seed2
            if again:
                generator = context.state(prefix, lambda: stream(seed, seed2))
                with context.lock:
                    seeds = next(generator), next(generator)
            return Shuffling(lambda: source.iterate(context, prefix), size, 1, stream(*seeds))

        def several(context: Context, prefix: str, count: int) -> Elements:
            start = lambda: source.iterate(context, prefix)  # noqa: E731
            return Shuffling(start, size, count, stream(seed, seed2))

        made = source.like("Shuffle", make, source.size)
        made.shuffled = several if again else None
        return made

    return run


@shuffle_and_repeat_dataset_op.kernel
def shuffle_and_repeat_dataset_kernel(node: Node) -> Any:
    def run(value: Any, size: Any, seed: Any, seed2: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)
        limit, *seeds = _arguments(size, seed, seed2)
        if count <= 0 and count != -1:
            raise invalid("count must be greater than zero or equal to -1.")

        def make(context: Context, prefix: str) -> Elements:
            start = lambda: source.iterate(context, prefix)  # noqa: E731
            return Shuffling(start, limit, count, stream(*seeds))

        return source.like("ShuffleAndRepeat", make, _repeated(source.size, count))

    return run
