"""Datasets of groups of elements that have the same key: GroupByWindowDataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.mapping import bound
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, Ended, State, Walk
from stillflow.ops.data.windows import Listed

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
_REDUCER = ("key_func", "init_func", "reduce_func", "finalize_func")
group_by_reducer_dataset_op = unary(
    "GroupByReducerDataset",
    ", ".join(f"{name}_other_arguments: [T{name}_other_arguments]" for name in _REDUCER),
    "".join(f"\n{name}: func" for name in _REDUCER)
    + "".join(f"\nT{name}_other_arguments: list(type) >= 0" for name in _REDUCER)
    + f"{TYPED}\nflags: stateful",
)
unique_dataset_op = unary("UniqueDataset", "", TYPED)


class _Grouping(Walk):
    """Walk over the results of a function for groups of elements with the same key.

    `key` is called for an element, `room` for a group's size; `begin` starts a group's dataset.
    """

    flags: ClassVar[dict[str, str]] = {"ended": "end_of_input"}

    def __init__(self, source: Elements, key: Any, room: Any, begin: Any) -> None:
        self.source = source
        self.ended = False
        self.key = key
        self.room = room
        self.begin = begin
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.current: Elements = Ended()
        self.making: int | None = None  # the key of the group that `current` is made of

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.current)
            except StopIteration:
                if self.making is not None:
                    del self.groups[self.making]
                    self.making = None
                self._fill()

    def _fill(self) -> None:
        """Read until a group is complete and start its reduction."""
        while not self.ended:
            try:
                element = next(self.source)
            except StopIteration:
                self.ended = True
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
        self.making = number
        self.current = self.begin(number, self.groups[number])

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "groups_size", len(self.groups))
        for index, number in enumerate(sorted(self.groups)):
            name, group = f"groups_[{index}]", self.groups[number]
            self.put(state, f"{name}->key", number)
            self.put(state, f"{name}_size", len(group))
            for place, element in enumerate(group):
                item = f"{name}[{place}]"
                self.put_values(state, f"{item}_size", f"{item}[{{}}]", element)
        self.put(state, "window_sizes_size", len(self.sizes))
        for index, number in enumerate(sorted(self.sizes)):
            self.put(state, f"window_sizes_[{index}]->key", number)
            self.put(state, f"window_sizes_[{index}]->value", self.sizes[number])
        if self.making is None:
            self.put(state, "current_iterator_not_initialized", b"")
        else:
            self.put(state, "current_key", self.making)
            self.current.save(state)

    def restore(self, state: State) -> None:
        super().restore(state)
        for index in range(self.integer_or_zero(state, "groups_size")):
            name = f"groups_[{index}]"
            items = [f"{name}[{place}]" for place in range(self.integer(state, f"{name}_size"))]
            group = [self.get_values(state, f"{item}_size", f"{item}[{{}}]") for item in items]
            self.groups[self.integer(state, f"{name}->key")] = group
        for index in range(self.integer_or_zero(state, "window_sizes_size")):
            number = self.integer(state, f"window_sizes_[{index}]->key")
            self.sizes[number] = self.integer(state, f"window_sizes_[{index}]->value")
        if not self.has(state, "current_iterator_not_initialized"):
            self._start(self.integer(state, "current_key"))
            self.current.restore(state)


def _parts(node: Node, names: Sequence[str]) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that splits captured tensors among several functions."""
    functions = [function_of(node, name) for name in names]
    counts = [len(node.op.attrs[f"T{name}_other_arguments"]) for name in names]
    starts = [sum(counts[:place]) for place in range(len(counts) + 1)]

    def bind(captured: Sequence[Any]) -> list[Any]:
        return [
            bound(function, captured[first:last])
            for function, (first, last) in zip(functions, pairwise(starts), strict=True)
        ]

    return bind


@group_by_window_dataset_op.kernel
def group_by_window_dataset_kernel(node: Node) -> Kernel:
    bind = _parts(node, ("key_func", "reduce_func", "window_size_func"))
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *captured: Any) -> Dataset:
        source, (key, reduce, room) = as_dataset(value), bind(captured)

        def make(context: Context, prefix: str) -> Elements:
            inner = context.in_functions()

            def begin(number: int, group: list[Element]) -> Elements:
                window = Dataset(
                    "Window", source.types, source.shapes, lambda *_: Listed(group), len(group)
                )
                (made,) = reduce((torch.tensor(number, dtype=torch.int64), window))
                return as_dataset(made).iterate(inner, f"{prefix}::Reduce")

            return _Grouping(source.iterate(context, prefix), key, room, begin)

        return Dataset("GroupByWindow", types, shapes, make)

    return run


class _Reducing(Walk):
    """Walk over each key's result, once all is read; `functions`: the key's, then `Reducer`'s."""

    flags: ClassVar[dict[str, str]] = {"ended": "end_of_input"}

    def __init__(self, source: Elements, functions: Sequence[Any]) -> None:
        self.source = source
        self.key, self.init, self.reduce, self.finalize = functions
        self.ended = False
        self.states: dict[int, Element] = {}
        self.keys: list[int] = []
        self.place = 0

    def __next__(self) -> Element:
        while not self.ended:
            try:
                element = next(self.source)
            except StopIteration:
                self.ended, self.keys = True, sorted(self.states)
                break
            self._take(element)
        if self.place >= len(self.keys):
            raise StopIteration
        self.place += 1
        return self.finalize(self.states[self.keys[self.place - 1]])

    def _take(self, element: Element) -> None:
        (key,) = self.key(element)
        if len(key.shape) or key.dtype != torch.int64:
            raise invalid("`key_func` must return a scalar int64.")
        number = scalar(key)
        state = self.states.get(number)
        if state is None:
            state = self.init((key,))
        self.states[number] = self.reduce((*state, *element))

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "states_size", len(self.states))
        for index, number in enumerate(sorted(self.states)):
            name = f"states[{index}]"
            self.put(state, f"{name}->key", number)
            self.put_values(
                state, f"{name}->state_size", f"{name}->state[{{}}]", self.states[number]
            )
        if self.ended:
            self.put(state, "keys_index", self.place)
            self.put_values(state, "keys_size", "keys[{}]", self.keys)

    def restore(self, state: State) -> None:
        super().restore(state)
        for index in range(self.integer_or_zero(state, "states_size")):
            name = f"states[{index}]"
            self.states[self.integer(state, f"{name}->key")] = self.get_values(
                state, f"{name}->state_size", f"{name}->state[{{}}]"
            )
        if self.ended:
            self.place = self.integer(state, "keys_index")
            self.keys = sorted(self.states)


@group_by_reducer_dataset_op.kernel
def group_by_reducer_dataset_kernel(node: Node) -> Kernel:
    bind = _parts(node, _REDUCER)
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *captured: Any) -> Dataset:
        source, functions = as_dataset(value), bind(captured)

        def make(context: Context, prefix: str) -> Elements:
            return _Reducing(source.iterate(context, prefix), functions)

        return Dataset("GroupByReducer", types, shapes, make)

    return run


class _Distinct(Walk):
    """Elements that did not come before."""

    def __init__(self, source: Elements) -> None:
        self.source = source
        self.seen: dict[str, Any] = {}

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            key = repr(element[0].tolist())
            if key not in self.seen:
                self.seen[key] = element[0]
                return element

    def save(self, state: State) -> None:
        super().save(state)
        self.put_values(
            state, "unique_elements_size", "unique_elements[{}]", list(self.seen.values())
        )

    def restore(self, state: State) -> None:
        super().restore(state)
        values = self.get_values(state, "unique_elements_size", "unique_elements[{}]")
        self.seen = {repr(value.tolist()): value for value in values}


@unique_dataset_op.kernel
def unique_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            return _Distinct(source.iterate(context, prefix))

        return source.like("Unique", make)

    return run
