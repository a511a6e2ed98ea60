"""Fuse element-wise steps on few numbers into programs of a native loop.

    tanh(x * w + b) - y                       one call
    split(x), four gates of an LSTM, concat   one call

A program takes steps as long as no other step takes their values, or may change what they take.
It reads parts and other shapes of a tensor where they are: such views of its own values need no
step. Values that other programs alone take stay in one tensor, a shelf.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import prod
from typing import Any

import torch

from stillflow import native
from stillflow.ops.math import elements
from stillflow.ops.math.elements import Home, Instruction, Program, View
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, all_taken, fuse, is_plain

_LEAST = 3  # steps of a program
_TYPES = ("float32", "bool")
_STILL = ("read", "number", "bool")  # kinds of steps that change nothing


def fuse_elements(graph: StepGraph) -> None:
    """Replace element-wise steps by programs."""
    if native.library() is None:
        return
    parts = _Parts(graph)
    groups = _Groups(graph, parts)
    while apart := groups.views_apart():
        parts.sees_through -= apart
        groups = _Groups(graph, parts)
    groups.put()


class _Parts:
    """Steps that programs may take, and the views that they see through.

    Attributes:
      instructions: of each step, by its id.
      views: by name.
      conditions: instructions for bools, by name, which each choice by them repeats.
      bases: names of the values of which views and conditions are.
      shapes: of the steps' results, by name.
      viewers: the steps that make views and conditions.
      sees_through: the ids of those whose results nobody but such steps takes.
    """

    def __init__(self, graph: StepGraph) -> None:
        self.graph = graph
        self.instructions: dict[int, list[Instruction]] = {}
        self.views: dict[str, View] = {}
        self.conditions: dict[str, list[Instruction]] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        self.viewers: list[Step] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        for step in graph:
            kind = elements.kind_of(step.function) if is_plain(step) and not step.guard else ""
            wanted = kind and (graph.in_loop or kind != "sum")  # losses keep torch's order of sums
            if wanted and step.op is not None and graph.is_on_cpu(step.op):
                views = self._arguments(step)
                if views is not None:
                    self._take(kind, step, views)
            if not _changes_nothing(step):
                self.conditions.clear()  # they may be of what has changed
        self.sees_through = {id(step) for step in self.viewers}
        for step in reversed(self.viewers):
            users = chain.from_iterable(map(graph.consumers, step.outputs))
            if any(map(graph.is_result, step.outputs)) or not all(
                id(user) in self.instructions or id(user) in self.sees_through for user in users
            ):
                self.sees_through.discard(id(step))

    def _take(self, kind: str, step: Step, views: list[View]) -> None:
        rest = [each for each in step.arguments if not isinstance(each, Name)]
        name, (base, size, data) = step.outputs[0], views[0]
        if kind == "view":
            made = step.function(data, *rest)  # type: ignore[misc]
            made = made if isinstance(made, (tuple, list)) else [made]
            self.viewers.append(step)
            pairs = zip(step.outputs, made, strict=True)
            self.views.update((name, (base, size, each)) for name, each in pairs)
            self.bases.update((name, self.bases.get(base, (base,))) for name in step.outputs)
            return
        condition = self.conditions.get(base, []) if kind == "choice" else []
        bools = [each[0] in self.bases for each in views]
        view = self._whole(name, step.op._outputs[0], _TYPES[kind == "condition"])  # type: ignore[union-attr]
        if view is None or bools != [bool(condition)] + [False] * (len(views) - 1):
            return
        found = elements.instructions_of(step.function, rest, views, view, condition)
        if found is not None and kind == "condition":
            self.viewers.append(step)
            self.views[name], self.conditions[name] = view, found
            self.bases[name] = tuple(each[0] for each in views)
        elif found is not None:
            self.instructions[id(step)] = found
            self.shapes[name] = tuple(view[2].shape)

    def _arguments(self, step: Step) -> list[View] | None:
        """Return the tensors that a step takes, as views; None if one is not known so well."""
        values, op = self.graph.values, step.op
        assert op is not None
        given = [tensor for tensor in op._inputs if tensor.dtype.base_dtype.name in _TYPES]
        named = {values[tensor].name: tensor for tensor in given if tensor in values}
        names = [each for each in step.arguments if isinstance(each, Name)]
        names = elements.tensors_of(step.function, names)
        if not 0 < len(names) <= len(given):
            return None
        found = [
            self.views.get(name) or self._whole(name, named.get(name, tensor))
            for name, tensor in zip(names, given, strict=False)
        ]
        return [view for view in found if view is not None] if None not in found else None

    def _whole(self, name: str, tensor: Any, kind: str = "float32") -> View | None:
        dims: Any = self.graph.dims(tensor)
        if dims is None or None in dims or tensor.dtype.base_dtype.name != kind:
            return None
        return str(name), prod(dims), torch.empty(dims, device="meta")


class _Groups:
    """Steps that become a program each."""

    def __init__(self, graph: StepGraph, parts: _Parts) -> None:
        self.graph, self.parts = graph, parts
        self.groups: list[list[Step]] = []
        self.number_of: dict[int, int] = {}
        group: list[Step] = []
        made: set[str] = set()
        for step in graph:
            if id(step) in parts.instructions:
                group.append(step)
                made.update(step.outputs)
                continue
            takes = bool(made) and not made.isdisjoint(all_taken(step))
            if takes and id(step) in parts.sees_through:
                made.update(step.outputs)
            elif group and (takes or not _changes_nothing(step)):
                self._close(group)
                group, made = [], set()
        self._close(group)

    def _close(self, group: list[Step]) -> None:
        """Keep a group if its call takes less than its steps: it makes a tensor for each result."""
        own = {*map(id, group), *self.parts.sees_through}
        results = sum(
            self.graph.is_result(step.outputs[0])
            or not own.issuperset(map(id, self.graph.consumers(step.outputs[0])))
            for step in group
        )
        if len(group) >= max(_LEAST, 2 + 2 * results / 3):
            self.number_of.update((id(step), len(self.groups)) for step in group)
            self.groups.append(group)

    def views_apart(self) -> set[int]:
        """Return the views of a group's values that a step outside all groups takes."""
        return {
            id(step) for step in self.parts.viewers
            if id(step) in self.parts.sees_through
            and any(
                id(self.graph.producer(base)) in self.number_of
                for base in self.parts.bases[step.outputs[0]]
            )
            and None in set(chain.from_iterable(map(self._takers, step.outputs)))
        }  # fmt: skip

    def _takers(self, name: str) -> Iterator[int | None]:
        """Yield the numbers of the groups that take a value; None for other steps and results."""
        if self.graph.is_result(name):
            yield None
        for step in self.graph.consumers(name):
            if id(step) in self.number_of or id(step) not in self.parts.sees_through:
                yield self.number_of.get(id(step))
            else:
                yield from chain.from_iterable(map(self._takers, step.outputs))

    def put(self) -> None:
        """Replace the groups by programs, and remove the views that nobody takes any more."""
        takers = [
            {name: set(self._takers(name)) for step in group for name in step.outputs}
            for group in self.groups
        ]
        homes: dict[str, Home] = {}
        for number, group in enumerate(self.groups):
            self._put(number, group, takers[number], homes)
        for step in reversed(self.parts.viewers):
            if not any(map(self.graph.uses, step.outputs)):
                self.graph.remove(step)

    def _put(
        self, number: int, group: list[Step], takers: dict[str, set[int | None]],
        homes: dict[str, Home],
    ) -> None:  # fmt: skip
        instructions = [each for step in group for each in self.parts.instructions[id(step)]]
        sizes = {each.out.base: each.out.size for each in instructions}
        made: dict[str, tuple[int, ...]] = {}
        shelf, size = Name(f"{group[-1].outputs[0]}_shelf"), 0
        shelved: dict[str, int] = {}
        for step in group:
            name, taken = step.outputs[0], takers[step.outputs[0]]
            if not taken or None in taken:
                homes[name] = Home(name, sizes[name])
                made[name] = self.parts.shapes[name]
            elif taken != {number}:
                shelved[name] = size
                size += sizes[name]
        homes.update((name, Home(shelf, size, at)) for name, at in shelved.items())
        if shelved:
            made[shelf] = (size,)
        program = Program(instructions, homes, made, self.graph.constants)
        arguments = [Name(name) for name in program.inputs]
        step = fuse(group, list(made), program, arguments)
        self.graph.replace(group, step, at=group[-1])


def _changes_nothing(step: Step) -> bool:
    """Return True for steps that leave what others take as it is."""
    if step.kind != "call":
        return step.kind in _STILL
    pure = step.op is not None and step.op.card.foldable and not step.op.card.asserts
    return pure and bool(step.outputs) and not step.writes
