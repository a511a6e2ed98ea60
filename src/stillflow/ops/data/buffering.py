"""Datasets that hold elements: prefetching and caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.background import Prefetching
from stillflow.ops.data.file_cache import FileCache
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
from stillflow.ops.data.walk import Element, State, Walk

_TUNED = 16  # how many elements are fetched ahead where it is left to us

prefetch_dataset_op = unary(
    "PrefetchDataset",
    "buffer_size: int64",
    f"{TYPED}\nslack_period: int = 0\nlegacy_autotune: bool = true",
    devices="host first",
)


def _in_memory(node: Node) -> bool:
    """Return True for a cache that is known to have no file."""
    file = node.value(1)
    return file is not None and file.size == 1 and not file.item()


cache_dataset_op = unary(
    "CacheDataset", "filename: string", TYPED, effect="writes files", harmless=_in_memory
)
cache_dataset_v2_op = unary(
    "CacheDatasetV2", "filename: string, cache: resource", f"{TYPED}\nflags: stateful",
    effect="writes files", harmless=_in_memory,
)  # fmt: skip
anonymous_memory_cache_op = op(
    "AnonymousMemoryCache() -> (handle: resource, deleter: variant)\nflags: stateful"
)
delete_memory_cache_op = op(
    "DeleteMemoryCache(handle: resource, deleter: variant)\nflags: stateful"
)


@prefetch_dataset_op.kernel
def prefetch_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, size: Any) -> Dataset:
        source, limit = as_dataset(value), scalar(size)
        if limit < -1:
            raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")

        def make(context: Context, prefix: str) -> Elements:
            if limit == 0:
                return source.iterate(context, prefix)
            elements, name = source.iterate(context, prefix), context.stats_name(node.op)
            return Prefetching(context, elements, _TUNED if limit < 0 else limit, name)

        made = source.like("Prefetch", make, source.size)
        made.same_as = source if limit == 0 else None
        return made

    return run


class _MemoryCache(Walk):
    """Elements that are kept; once all were asked for, walks of other epochs give them, too.

    `shared` holds by "all" what an epoch kept that came to its end.
    """

    def __init__(self, shared: dict[str, list[Element]], start: Callable[[], Elements]) -> None:
        self.shared = shared
        self.start = start
        self.place = 0
        self.source: Elements | None = None if "all" in shared else start()
        self.kept = shared.get("all", [])

    def __next__(self) -> Element:
        if self.source is not None:
            try:
                element = next(self.source)
            except StopIteration:
                self.shared.setdefault("all", self.kept)
                raise
            self.kept.append(element)
            return element
        if self.place >= len(self.kept):
            raise StopIteration
        element = self.kept[self.place]
        self.place += 1
        return element

    def save(self, state: State) -> None:
        self.put(state, "Mode", int(self.source is not None))
        self.put(state, "cache_claimed", b"")
        self.put(state, "cache_size", len(self.kept))
        for index, element in enumerate(self.kept):
            item = f"cache[{index}]"
            self.put_values(state, f"{item}.size", f"{item}[{{}}]", element)
        if "all" in self.shared:
            self.put(state, "cache_completed", b"")
        if self.source is None:
            state[f"{self.prefix}Impl:index"] = self.place
        else:
            self.source.save(state)

    def restore(self, state: State) -> None:
        size = self.integer(state, "cache_size") if self.has(state, "cache_claimed") else 0
        items = [f"cache[{index}]" for index in range(size)]
        self.kept = [self.get_values(state, f"{item}.size", f"{item}[{{}}]") for item in items]
        if self.has(state, "cache_completed"):
            self.shared["all"] = self.kept
        if self.integer(state, "Mode"):
            self.source = self.start()
            self.source.restore(state)
        else:
            self.source, self.place = None, int(state[f"{self.prefix}Impl:index"])


def _cached(source: Dataset, name: str, memory: MemoryCache | None) -> Dataset:
    """Return a dataset with a cache in a file of that name; in memory if it has none.

    `memory` is None for a cache that each iterator creates again.
    """

    def in_memory(context: Context, prefix: str) -> Elements:
        start = lambda: source.iterate(context, f"{prefix}Impl")
        shared = context.state(prefix, dict) if memory is None else memory.elements
        return _MemoryCache(shared, start)

    def in_file(context: Context, prefix: str) -> Elements:
        start = lambda: source.iterate(context, f"{prefix}Impl")
        return FileCache(context, name, source.types, start)

    if name:
        return source.like("FileCache", in_file, source.size)
    made = source.like("MemoryCache", in_memory, source.size)
    if memory is not None:
        made.resource = "CacheDatasetOp::MemoryDataset depends on memory cache resource."
    return made


@cache_dataset_op.kernel
def cache_dataset_kernel(node: Node) -> Kernel:
    return lambda value, name: _cached(as_dataset(value), scalar(name).decode(), None)


class MemoryCache:
    """Elements that outlive iterators.

    Attributes:
      elements: those of an epoch that came to its end, by "all".
    """

    shape = ()

    def __init__(self) -> None:
        self.elements: dict[str, list[Element]] = {}


anonymous_memory_cache_op.shape(lambda node: [(), ()])


@anonymous_memory_cache_op.kernel
def anonymous_memory_cache_kernel(node: Node) -> Kernel:
    def run() -> tuple[MemoryCache, MemoryCache]:
        made = MemoryCache()
        return made, made

    return run


delete_memory_cache_op.kernel(lambda node: lambda *_: None)  # it goes with its datasets


@cache_dataset_v2_op.kernel
def cache_dataset_v2_kernel(node: Node) -> Kernel:
    return lambda value, name, cache: _cached(as_dataset(value), scalar(name).decode(), cache)
