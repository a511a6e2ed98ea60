"""Datasets that take some elements of others: take, skip, repeat, shard, zip, concatenate."""

from __future__ import annotations

import itertools
from typing import Any

from stillflow.graph.dims import relax
from stillflow.graph.node import Node
from stillflow.ops.data.pipeline import (
    INFINITE,
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Element,
    Elements,
    Repeated,
    as_dataset,
    dataset_op,
    invalid,
    scalar,
    unary,
)

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


@take_dataset_op.kernel
def take_dataset_kernel(node: Node) -> Any:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            if count < 0:
                return source.iterate(context, prefix)
            if count == 0:
                return iter(())
            return itertools.islice(source.iterate(context, prefix), count)

        made = source.like("Take", make, _taken(source.size, count))
        made.same_as = source if count == -1 else None
        return made

    return run


def _skipped(size: int, count: int) -> int:
    if count < 0:
        return 0
    return size if size < 0 else max(0, size - count)


class _Skipping:
    """Leaves out the first elements."""

    def __init__(self, source: Elements, count: int) -> None:
        self.source = source
        self.left = count

    def __iter__(self) -> _Skipping:
        return self

    def __next__(self) -> Element:
        while self.left:
            next(self.source)
            self.left -= 1
        return next(self.source)


@skip_dataset_op.kernel
def skip_dataset_kernel(node: Node) -> Any:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            if count < 0:
                return iter(())
            return _Skipping(source.iterate(context, prefix), count)

        made = source.like("Skip", make, _skipped(source.size, count))
        made.same_as = source if count == 0 else None
        return made

    return run


def _repeated(size: int, count: int) -> int:
    if count < 0:
        return 0 if size == 0 else INFINITE
    if count == 0:
        return 0
    return size if size < 0 else size * count


@repeat_dataset_op.kernel
def repeat_dataset_kernel(node: Node) -> Any:
    def run(value: Any, number: Any) -> Dataset:
        source, count = as_dataset(value), scalar(number)

        def make(context: Context, prefix: str) -> Elements:
            shuffled = source.origin().shuffled
            if context.fuses and shuffled is not None and (count == -1 or count > 0):
                return shuffled(context, prefix, count)
            return Repeated(source, count, context, prefix)

        made = source.like("Repeat", make, _repeated(source.size, count))
        made.same_as = source if count == 1 else None
        return made

    return run


class _Sharding:
    """Every `count`-th element, from number `index` on."""

    def __init__(self, source: Elements, count: int, index: int, non_empty: bool) -> None:
        self.source = source
        self.count = count
        self.index = index
        self.position = 0
        self.non_empty = non_empty

    def __iter__(self) -> _Sharding:
        return self

    def __next__(self) -> Element:
        while True:
            try:
                element = next(self.source)
            except StopIteration:
                if self.non_empty and self.position < self.count:
                    raise invalid(
                        f"There aren't enough elements in this dataset for each shard to have at "
                        f"least one element (# elems = {self.position}, # shards = {self.count}). "
                        "If you are using datasets with distribution strategy, considering "
                        "turning on dataset autosharding."
                    ) from None
                raise
            mine = self.position % self.count == self.index
            self.position += 1
            if mine:
                return element


@shard_dataset_op.kernel
def shard_dataset_kernel(node: Node) -> Any:
    non_empty = node.require_non_empty

    def run(value: Any, number: Any, which: Any) -> Dataset:
        source, count, index = as_dataset(value), scalar(number), scalar(which)
        if count <= 0:
            raise invalid(
                f"Number of shards must be greater than zero (currently num_shards = {count})."
            )
        if index < 0 or index >= count:
            raise invalid(f"Index must be between 0 and {count - 1} (currently index = {index}).")

        def make(context: Context, prefix: str) -> Elements:
            return _Sharding(source.iterate(context, prefix), count, index, non_empty)

        size = source.size
        if size >= 0:
            size = size // count + (1 if index < size % count else 0)
        return source.like("Shard", make, size)

    return run


class _Zipping:
    """Elements of several datasets side by side, as long as all have some."""

    def __init__(self, sources: list[Elements]) -> None:
        self.sources = sources

    def __iter__(self) -> _Zipping:
        return self

    def __next__(self) -> Element:
        element: list[Any] = []
        for source in self.sources:
            element.extend(next(source))
        return tuple(element)


@zip_dataset_op.kernel
def zip_dataset_kernel(node: Node) -> Any:
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


class _Chained:
    """One dataset after the other; each is begun when it is needed."""

    def __init__(self, sources: list[Dataset], context: Context, prefix: str) -> None:
        self._starts = iter([
            (source, f"{prefix}[{index}]") for index, source in enumerate(sources)
        ])  # fmt: skip
        self._context = context
        self._current: Elements = iter(())

    def __iter__(self) -> _Chained:
        return self

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._current)
            except StopIteration:
                source, prefix = next(self._starts)
                self._current = source.iterate(self._context, prefix)


@concatenate_dataset_op.kernel
def concatenate_dataset_kernel(node: Node) -> Any:
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
        return Dataset(
            "Concatenate", sources[0].types, shapes,
            lambda context, prefix: _Chained(sources, context, prefix), size,
        )  # fmt: skip

    return run
