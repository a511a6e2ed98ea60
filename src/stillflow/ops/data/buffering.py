"""Datasets that hold elements: prefetching and caches."""

from __future__ import annotations

from typing import Any

from stillflow.graph.node import Node
from stillflow.ops.data.background import Prefetching
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

_TUNED = 16  # how many elements are fetched ahead where it is left to us

prefetch_dataset_op = unary(
    "PrefetchDataset", "buffer_size: int64",
    f"{TYPED}\nslack_period: int = 0\nlegacy_autotune: bool = true",
)  # fmt: skip
cache_dataset_op = unary("CacheDataset", "filename: string", TYPED)


@prefetch_dataset_op.kernel
def prefetch_dataset_kernel(node: Node) -> Any:
    def run(value: Any, size: Any) -> Dataset:
        source, limit = as_dataset(value), scalar(size)
        if limit < -1:
            raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")

        def make(context: Context, prefix: str) -> Elements:
            if limit == 0:
                return source.iterate(context, prefix)
            start = lambda: source.iterate(context, prefix)  # noqa: E731
            return Prefetching(context, start, _TUNED if limit < 0 else limit)

        made = source.like("Prefetch", make, source.size)
        made.same_as = source if limit == 0 else None
        return made

    return run


class _Recording:
    """Elements of which a copy is kept; it counts once all were asked for."""

    def __init__(self, source: Elements, kept: list[Element], finish: Any) -> None:
        self.source = source
        self.kept = kept
        self.finish = finish

    def __iter__(self) -> _Recording:
        return self

    def __next__(self) -> Element:
        try:
            element = next(self.source)
        except StopIteration:
            self.finish(self.kept)
            raise
        self.kept.append(element)
        return element


def _in_memory(source: Dataset, context: Context, prefix: str) -> Elements:
    cache: dict[str, list[Element]] = context.state(prefix, dict)
    if "all" in cache:
        return iter(cache["all"])
    return _Recording(
        source.iterate(context, prefix), [], lambda kept: cache.setdefault("all", kept)
    )


@cache_dataset_op.kernel
def cache_dataset_kernel(node: Node) -> Any:
    def run(value: Any, filename: Any) -> Dataset:
        from stillflow.ops.data.file_cache import FileCache

        source, name = as_dataset(value), scalar(filename).decode()

        def make(context: Context, prefix: str) -> Elements:
            if not name:
                return _in_memory(source, context, prefix)
            return FileCache(name, source, context, prefix)

        return source.like("Cache", make, source.size)

    return run
