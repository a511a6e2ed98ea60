"""Datasets in random order: ShuffleDataset, ShuffleAndRepeatDataset.

From the same seeds they give TensorFlow's order, epoch after epoch.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.counting import _repeated
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.sources import RandomNumbers
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.random.philox import Philox

_SEEDS = "buffer_size: int64, seed: int64, seed2: int64"
_MAX_EPOCHS_IN_BUFFER = 3

shuffle_dataset_op = unary(
    "ShuffleDataset", _SEEDS, f"\nreshuffle_each_iteration: bool = true{TYPED}"
)
shuffle_and_repeat_dataset_op = unary("ShuffleAndRepeatDataset", f"{_SEEDS}, count: int64", TYPED)
shuffle_dataset_v2_op = unary(
    "ShuffleDatasetV2", "buffer_size: int64, seed_generator: resource", f"{TYPED}\nflags: stateful"
)
anonymous_random_seed_generator_op = op(
    "AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> "
    "(handle: resource, deleter: variant)\nflags: stateful"
)
delete_random_seed_generator_op = op(
    "DeleteRandomSeedGenerator(handle: resource, deleter: variant)\nflags: stateful"
)


def stream(seed: int, seed2: int) -> RandomNumbers:
    """Return the random numbers that two seeds stand for, also if both are 0."""
    return RandomNumbers(Philox(seed, 0, seed2))


class Shuffling(Walk):
    """Walk in the random order of a refilled buffer; elements of different epochs do not mix.

    Args:
      size: of the buffer.
      count: how many epochs there are, -1 for no end.
      seeds: of the order.
      epochs: gives the seeds of walks that are begun later, if these differ.
    """

    def __init__(
        self, start: Any, size: int, count: int, seeds: Sequence[int],
        epochs: RandomNumbers | None = None,
    ) -> None:  # fmt: skip
        self.start = start
        self.size = size
        self.count = count
        self.epochs = epochs
        self.seeds = tuple(seeds)
        self.draw = stream(*seeds)
        self.buffer: dict[int, Element] = {}  # by position in an endless row
        self.slices: deque[list[int]] = deque([[0, 0]])  # of the row, one for each epoch
        self.epoch = 0
        self.source: Elements | None = None

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
        chosen = low + self.draw() % (high - low)
        element = self.buffer.pop(low)
        if chosen != low:
            element, self.buffer[chosen] = self.buffer[chosen], element
        place[0] = low + 1
        return element

    def _add(self, first: bool) -> None:
        """Add one more element; begin the next epoch after the last one."""
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

    def save(self, state: State) -> None:
        if self.epochs is not None:
            self.put(state, "ds_num_random_samples", self.epochs.drawn)
        self.put(state, "num_random_samples", self.draw.drawn)
        self.put(state, "seed", self.seeds[0])
        self.put(state, "seed2", self.seeds[1])
        if self.source is None:
            self.put(state, "end_of_input_sequence", b"")
        else:
            self.source.save(state)
        self.put(state, "epoch", self.epoch)
        self.put(state, "num_elements", len(self.buffer))
        self.put(state, "slices_size", len(self.slices))
        for index, (low, high) in enumerate(self.slices):
            self.put(state, f"slices_start_{index}", low)
            self.put(state, f"slices_end_{index}", high)
            for place in range(low, high):
                self.put_values(state, *self._names(place), self.buffer[place])

    def restore(self, state: State) -> None:
        if self.epochs is not None:
            self.epochs.drawn = self.integer(state, "ds_num_random_samples")
        self.seeds = self.integer(state, "seed"), self.integer(state, "seed2")
        self.draw = stream(*self.seeds)
        self.draw.drawn = self.integer(state, "num_random_samples")
        if not self.has(state, "end_of_input_sequence"):
            self.source = self.start()
            self.source.restore(state)
        self.epoch = self.integer(state, "epoch")
        self.slices = deque(
            [self.integer(state, f"slices_{edge}_{index}") for edge in ("start", "end")]
            for index in range(self.integer(state, "slices_size"))
        )
        for low, high in self.slices:
            for place in range(low, high):
                self.buffer[place] = self.get_values(state, *self._names(place))

    def _names(self, place: int) -> tuple[str, str]:
        slot = place % self.size
        return f"buffer_{slot}_size", f"buffer_{slot}_{{}}"


def seeds_of(seed: Any, seed2: Any) -> tuple[int, int]:
    """Two seeds as numbers, random ones for 0 and 0."""
    seeds = scalar(seed), scalar(seed2)
    return (secrets.randbits(63), secrets.randbits(63)) if seeds == (0, 0) else seeds


def _buffer_size(size: Any) -> int:
    if scalar(size) <= 0:
        raise invalid("buffer_size must be greater than zero.")
    return int(scalar(size))


def _arguments(size: Any, seed: Any, seed2: Any) -> tuple[int, int, int]:
    return _buffer_size(size), *seeds_of(seed, seed2)


@shuffle_dataset_op.kernel
def shuffle_dataset_kernel(node: Node) -> Kernel:
    again = node.reshuffle_each_iteration

    def run(value: Any, *numbers: Any) -> Dataset:
        source = as_dataset(value)
        size, seed, seed2 = _arguments(*numbers)

        def make(context: Context, prefix: str) -> Elements:
            start = lambda: source.iterate(context, prefix)
            if not again:
                return Shuffling(start, size, 1, (seed, seed2))
            epochs = context.state(prefix, lambda: stream(seed, seed2))
            with context.lock:
                seeds = epochs(), epochs()
            return Shuffling(start, size, 1, seeds, epochs)

        def several(context: Context, prefix: str, count: int) -> Elements:
            start = lambda: source.iterate(context, prefix)
            walk = Shuffling(start, size, count, (seed, seed2))
            walk.prefix = prefix
            return walk

        made = source.like("Shuffle", make, source.size)
        made.shuffled = several if again else None
        return made

    return run


# ---- seeds that outlive iterators


class SeedGenerator:
    """Generator of the seeds of each walk of shuffled datasets.

    Args:
      seeds: of the row of seeds.
    """

    shape = ()

    def __init__(self, seeds: tuple[int, int]) -> None:
        self.numbers = stream(*seeds)
        self._lock = threading.Lock()

    def next(self) -> tuple[int, int]:
        """Return the seeds of the next walk."""
        with self._lock:
            return self.numbers(), self.numbers()


anonymous_random_seed_generator_op.shape(lambda node: [(), ()])


@anonymous_random_seed_generator_op.kernel
def anonymous_random_seed_generator_kernel(node: Node) -> Kernel:
    def run(seed: Any, seed2: Any) -> tuple[SeedGenerator, SeedGenerator]:
        made = SeedGenerator(seeds_of(seed, seed2))
        return made, made

    return run


delete_random_seed_generator_op.kernel(lambda node: lambda *_: None)  # it goes with its datasets


@shuffle_dataset_v2_op.kernel
def shuffle_dataset_v2_kernel(node: Node) -> Kernel:
    def run(value: Any, buffer_size: Any, generator: SeedGenerator) -> Dataset:
        source, size = as_dataset(value), _buffer_size(buffer_size)

        def make(context: Context, prefix: str) -> Elements:
            start = lambda: source.iterate(context, prefix)
            return Shuffling(start, size, 1, generator.next(), generator.numbers)

        made = source.like("Shuffle", make, source.size)
        made.resource = (
            f"ShuffleDatasetOp({size})::ReshufflingDataset depends on random seed generator "
            "resource."
        )
        return made

    return run


@shuffle_and_repeat_dataset_op.kernel
def shuffle_and_repeat_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, size: Any, seed: Any, seed2: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)
        limit, *seeds = _arguments(size, seed, seed2)
        if count <= 0 and count != -1:
            raise invalid("count must be greater than zero or equal to -1.")

        def make(context: Context, prefix: str) -> Elements:
            start = lambda: source.iterate(context, prefix)
            return Shuffling(start, limit, count, seeds)

        return source.like("ShuffleAndRepeat", make, _repeated(source.size, count))

    return run
