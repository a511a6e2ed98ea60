"""Datasets that take some elements of others: take, skip, repeat, shard, zip, concatenate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from stillflow.graph.dims import relax
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    INFINITE,
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    dataset_op,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, Ended, State, Walk
from stillflow.ops.queues.elements import joined

take_dataset_op = unary("TakeDataset", "count: int64", TYPED)
skip_dataset_op = unary("SkipDataset", "count: int64", TYPED)
repeat_dataset_op = unary("RepeatDataset", "count: int64", TYPED)
shard_dataset_op = unary(
    "ShardDataset", "num_shards: int64, index: int64", f"\nrequire_non_empty: bool = false{TYPED}"
)
zip_dataset_op = dataset_op(
    f"ZipDataset(input_datasets: N*variant) -> handle: variant{TYPED}\nN: int >= 1"
)
concatenate_dataset_op = unary("ConcatenateDataset", "another_dataset: variant", TYPED)


def _taken(size: int, count: int) -> int:
    if count < 0:
        return size
    if size == INFINITE:
        return count
    return UNKNOWN if size == UNKNOWN else min(size, count)


class Taking(Walk):
    """The first elements."""

    numbers: ClassVar[dict[str, str]] = {"taken": "i"}

    def __init__(self, source: Elements, count: int) -> None:
        self.source: Walk = source
        self.count = count
        self.taken = 0

    def __next__(self) -> Element:
        if self.taken >= self.count:
            self.source = Ended()  # lets a generator go
            raise StopIteration
        element = next(self.source)
        self.taken += 1
        return element


@take_dataset_op.kernel
def take_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            if count == 0:
                return Ended()
            return Taking(source.iterate(context, prefix), count if count > 0 else sys.maxsize)

        kind = "FiniteTake" if count else "EmptyTake"
        made = source.like(kind, make, _taken(source.size, count))
        made.same_as = source if count == -1 else None
        return made

    return run


def _skipped(size: int, count: int) -> int:
    if count < 0:
        return 0
    return size if size < 0 else max(0, size - count)


class _Skipping(Walk):
    """Walk without the first elements."""

    numbers: ClassVar[dict[str, str]] = {"skipped": "i"}

    def __init__(self, source: Elements, count: int) -> None:
        self.source = source
        self.count = count
        self.skipped = 0

    def __next__(self) -> Element:
        while self.skipped < self.count:
            next(self.source)
            self.skipped += 1
        return next(self.source)


@skip_dataset_op.kernel
def skip_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            if count < 0:
                return Ended()
            return _Skipping(source.iterate(context, prefix), count)

        kind = "FiniteSkip" if count >= 0 else "EmptySkip"
        made = source.like(kind, make, _skipped(source.size, count))
        made.same_as = source if count == 0 else None
        return made

    return run


class _Repeating(Walk):
    """Walk over a dataset `count` times, -1 for ever."""

    def __init__(self, start: Callable[[], Elements], count: int) -> None:
        self.start = start
        self.count = count
        self.epoch = 0
        self.current: Elements | None = None
        self.fresh = True  # whether this epoch has had no element

    def __next__(self) -> Element:
        while self._goes_on():
            assert self.current is not None
            try:
                element = next(self.current)
            except StopIteration:
                self._end_epoch()
                continue
            self.fresh = False
            return element
        raise StopIteration

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        parts: list[Sequence[Element]] = []
        while count and self._goes_on():
            assert self.current is not None
            elements, error = self.current.take(count)
            if len(elements):
                self.fresh = False
            parts.append(elements)
            count -= len(elements)
            if error is not None:
                return joined(parts), error
            if count:
                self._end_epoch()
        return joined(parts), None

    def _goes_on(self) -> bool:
        """Return True if there is an epoch, which begins if it has not yet."""
        over = 0 <= self.count <= self.epoch
        if not over and self.current is None:
            self.current, self.fresh = self.start(), True
        return not over

    def _end_epoch(self) -> None:
        self.current = None
        self.epoch += 1
        if self.epoch == self.count:
            self.start()  # in vain, but TensorFlow draws seeds for this epoch, too
        if self.count < 0 and self.fresh:
            self.count = 0  # an empty dataset has no end otherwise

    def save(self, state: State) -> None:
        over = 0 <= self.count <= self.epoch
        if self.count >= 0:
            self.put(state, "i", self.epoch)
        if self.current is None and (over or self.count < 0):
            self.put(state, "input_impl_empty" if over else "uninitialized", b"")
        else:
            if self.current is None:
                self.current, self.fresh = self.start(), True
            self.save_input(state, self.current)

    def restore(self, state: State) -> None:
        if self.count >= 0:
            self.epoch = self.integer(state, "i")
        if self.has(state, "input_impl_empty"):
            self.count = self.epoch
        elif not self.has(state, "uninitialized"):
            self.current = self.restored(state, self.start())
            self.fresh = False


def _repeated(size: int, count: int) -> int:
    if count < 0:
        return 0 if size == 0 else INFINITE
    if count == 0:
        return 0
    return size if size < 0 else size * count


@repeat_dataset_op.kernel
def repeat_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            shuffled = source.origin().shuffled
            if context.fuses and shuffled is not None and (count == -1 or count > 0):
                return shuffled(context, f"{prefix.rpartition('::')[0]}::ShuffleAndRepeat", count)
            if count == 0:
                return Ended()
            return _Repeating(lambda: source.iterate(context, prefix), count)

        kind = "ForeverRepeat" if count < 0 else "FiniteRepeat" if count else "EmptyRepeat"
        made = source.like(kind, make, _repeated(source.size, count))
        made.same_as = source if count == 1 else None
        return made

    return run


class _Sharding(Walk):
    """Every `count`-th element, from number `index` on."""

    numbers: ClassVar[dict[str, str]] = {"position": "next_index"}

    def __init__(self, source: Elements, count: int, index: int, non_empty: bool) -> None:
        self.source = source
        self.count = count
        self.index = index
        self.position = 0
        self.non_empty = non_empty

    def __next__(self) -> Element:
        element = next(self.source)
        while self.position % self.count != self.index:
            self.position += 1
            element = next(self.source)
        self.position += 1
        while self.non_empty and self.position < self.count:  # the others have one, too
            if next(self.source, None) is None:
                raise invalid(
                    f"There aren't enough elements in this dataset for each shard to have at "
                    f"least one element (# elems = {self.position}, # shards = {self.count}). "
                    "If you are using datasets with distribution strategy, consider "
                    "turning dataset autosharding off with `tf.data.Options`."
                )
            self.position += 1
        return element


def shard(source: Dataset, count: int, index: int, non_empty: bool) -> Dataset:
    """Return the elements of a dataset at places that leave a rest of `index` by `count`."""

    def make(context: Context, prefix: str) -> Elements:
        return _Sharding(source.iterate(context, prefix), count, index, non_empty)

    size = source.size
    if size >= 0:
        size = size // count + (1 if index < size % count else 0)
    return source.like("Shard", make, size)


@shard_dataset_op.kernel
def shard_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any, which: Any) -> Dataset:
        source, count, index = as_dataset(value), scalar(number), scalar(which)
        if count <= 0:
            raise invalid(
                f"Number of shards must be greater than zero (currently num_shards = {count})."
            )
        if index < 0 or index >= count:
            raise invalid(f"Index must be between 0 and {count - 1} (currently index = {index}).")
        return shard(source, count, index, node.require_non_empty)

    return run


class _Zipping(Walk):
    """Elements of several datasets side by side, as long as all have some."""

    inputs = ("sources",)

    def __init__(self, sources: list[Elements]) -> None:
        self.sources = sources

    def __next__(self) -> Element:
        element: list[Any] = []
        for source in self.sources:
            element.extend(next(source))
        return tuple(element)


@zip_dataset_op.kernel
def zip_dataset_kernel(node: Node) -> Kernel:
    def run(*values: Any) -> Dataset:
        sources = [as_dataset(value) for value in values]

        def make(context: Context, prefix: str) -> Elements:
            return _Zipping([s.iterate(context, f"{prefix}[{i}]") for i, s in enumerate(sources)])

        sizes = [source.size for source in sources]
        finite = [size for size in sizes if size != INFINITE]
        size = UNKNOWN if UNKNOWN in sizes else min(finite, default=INFINITE)
        types = [dtype for source in sources for dtype in source.types]
        shapes = [dims for source in sources for dims in source.shapes]
        return Dataset("Zip", types, shapes, make, size)

    return run


class _Chained(Walk):
    """One dataset after the other; each is begun when it is needed."""

    inputs = ("current",)
    numbers: ClassVar[dict[str, str]] = {"place": "i"}

    def __init__(self, starts: list[Callable[[], Elements]]) -> None:
        self.starts = starts
        self.place = 0
        self.current = starts[0]()

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.current)
            except StopIteration:
                if self.place + 1 >= len(self.starts):
                    raise
                self.place += 1
                self.current = self.starts[self.place]()

    def restore(self, state: State) -> None:
        place = self.integer(state, "i")
        self.current = self.starts[place]() if place < len(self.starts) else Ended()
        super().restore(state)


@concatenate_dataset_op.kernel
def concatenate_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, another: Any) -> Dataset:
        sources = [as_dataset(value), as_dataset(another)]
        if [t.base_dtype for t in sources[0].types] != [t.base_dtype for t in sources[1].types]:
            raise invalid("input dataset and dataset to concatenate have different output_types")
        sizes = [source.size for source in sources]
        size = sum(sizes)
        if INFINITE in sizes:
            size = INFINITE
        elif UNKNOWN in sizes:
            size = UNKNOWN
        shapes = [relax(a, b) for a, b in zip(sources[0].shapes, sources[1].shapes, strict=True)]

        def make(context: Context, prefix: str) -> Elements:
            return _Chained([
                partial(source.iterate, context, f"{prefix}[{index}]")
                for index, source in enumerate(sources)
            ])  # fmt: skip

        return Dataset("Concatenate", sources[0].types, shapes, make, size)

    return run
