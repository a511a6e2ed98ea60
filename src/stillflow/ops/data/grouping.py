"""Datasets of groups of elements that have the same key: GroupByWindowDataset."""

from __future__ import annotations

from typing import Any

from stillflow.graph.node import Node
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.mapping import bound
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Element,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)

group_by_window_dataset_op = unary(
    "GroupByWindowDataset",
    "key_func_other_arguments: [Tkey_func_other_arguments], reduce_func_other_arguments: "
    "[Treduce_func_other_arguments], window_size_func_other_arguments: "
    "[Twindow_size_func_other_arguments]",
    "\nkey_func: func\nreduce_func: func\nwindow_size_func: func\n"
    "Tkey_func_other_arguments: list(type) >= 0\n"
    "Treduce_func_other_arguments: list(type) >= 0\n"
    f"Twindow_size_func_other_arguments: list(type) >= 0{TYPED}",
)
unique_dataset_op = unary("UniqueDataset", "", TYPED)


class _Grouping:
    """What a function makes of elements with the same key, once there are enough of them.

    Args:
      key: of an element.
      room: how many elements with a key make a group.
      begin: starts the dataset that is made of a key and a group.
    """

    def __init__(self, source: Elements, key: Any, room: Any, begin: Any) -> None:
        self.source: Elements | None = source
        self.key = key
        self.room = room
        self.begin = begin
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.current: Elements = iter(())

    def __iter__(self) -> _Grouping:
        return self

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.current)
            except StopIteration:
                self._fill()

    def _fill(self) -> None:
        """Reads until a group is complete and starts what is made of it."""
        while self.source is not None:
            try:
                element = next(self.source)
            except StopIteration:
                self.source = None
                break
            (key,) = self.key(element)
            number = scalar(key)
            if number not in self.sizes:
                self.sizes[number] = self._room(key)
            group = self.groups.setdefault(number, [])
            group.append(element)
            if len(group) == self.sizes[number]:
                self._start(number)
                return
        if not self.groups:
            raise StopIteration
        self._start(min(self.groups))

    def _room(self, key: Any) -> int:
        size = scalar(self.room((key,))[0])
        if size <= 0:
            raise invalid(f"Window size must be greater than zero, but got {size}.")
        return int(size)

    def _start(self, number: int) -> None:
        group = self.groups.pop(number)
        del self.sizes[number]
        self.current = self.begin(number, group)


@group_by_window_dataset_op.kernel
def group_by_window_dataset_kernel(node: Node) -> Any:
    from stillflow.graph.lazy import torch

    names = ("key_func", "reduce_func", "window_size_func")
    functions = [function_of(node, name) for name in names]
    counts = [len(node.op.attrs[f"T{name}_other_arguments"]) for name in names]
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *captured: Any) -> Dataset:
        source = as_dataset(value)
        first, second = counts[0], counts[0] + counts[1]
        parts = captured[:first], captured[first:second], captured[second:]
        key, reduce, room = (bound(f, p) for f, p in zip(functions, parts, strict=True))

        def make(context: Context, prefix: str) -> Elements:
            def begin(number: int, group: list[Element]) -> Elements:
                window = Dataset(
                    "Window", source.types, source.shapes, lambda *_: iter(group), len(group)
                )
                (made,) = reduce((torch.tensor(number, dtype=torch.int64), window))
                return as_dataset(made).iterate(context.fusing(False), prefix)

            return _Grouping(source.iterate(context, prefix), key, room, begin)

        return Dataset("GroupByWindow", types, shapes, make)

    return run


class _Distinct:
    """Elements that did not come before."""

    def __init__(self, source: Elements) -> None:
        self.source = source
        self.seen: set[Any] = set()

    def __iter__(self) -> _Distinct:
        return self

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            value = element[0].tolist()
            key = repr(value)
            if key not in self.seen:
                self.seen.add(key)
                return element


@unique_dataset_op.kernel
def unique_dataset_kernel(node: Node) -> Any:
    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            return _Distinct(source.iterate(context, prefix))

        return source.like("Unique", make)

    return run
