"""The order of a plan's steps in which those of a GPU stand together.

Host steps in between would split a CUDA graph. Steps of the host that a device waits for, or that
change something or may fail, run as soon as their inputs exist, then the device's steps, last those
that only the host needs; everything visible in values or outside keeps its order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.runtime.plan.steps import Memory, Step, assigned_buffer, ops_of
from stillflow.runtime.schedule.dependencies import Dependencies

# Kinds of steps that do nothing but to give their names a value. All others keep their place.
_PLAIN = frozenset(("call", "read", "copy", "move", "number", "bool", "alias", "flag"))
_ARRAYS = ("stack", "tensor array")
_ANY = -1  # a variable that is known only at run time
_LAST = "last"  # the group of steps for which no device waits


def host_first(
    steps: list[Step],
    places: Sequence[Any],
    roots: dict[str, frozenset[int]],
    memory: Memory,
    buffer_of: Callable[[str], int | None],
) -> list[Step]:
    """Sorts the steps of a plan.

    Args:
      steps: in an order in which they may run.
      places: the group that each belongs to; None for those of the host. A loop that belongs to
        one changes no variable.
      roots: the memory of every value, by its name.
      memory: of the plan.
      buffer_of: the number of the variable behind a handle's name; None if it is no handle.
    """
    places = list(places)
    waits = Dependencies(_Order(roots, memory, buffer_of).all_of(steps, places))
    for number in reversed(range(len(steps))):
        only_looks = not (steps[number].writes or has_effect(steps[number]))
        waited_for = any(places[other] != _LAST for other in waits.followers[number])
        if places[number] is None and only_looks and not waited_for:
            places[number] = _LAST
    ready: dict[Any, list[int]] = {}

    def release(number: int) -> None:
        heapq.heappush(ready.setdefault(places[number], []), number)

    for number in waits.free():
        release(number)
    result: list[Step] = []
    present: Any = None
    while len(result) < len(steps):
        if ready.get(None):
            present = None
        elif present == _LAST or not ready.get(present):
            groups = [group for group in ready if ready[group] and group != _LAST]
            present = min(groups, key=lambda group: ready[group][0], default=_LAST)
        number = heapq.heappop(ready[present])
        result.append(steps[number])
        for other in waits.done(number):
            release(other)
    return result


class _Order:
    """Dependencies of each step."""

    def __init__(
        self,
        roots: dict[str, frozenset[int]],
        memory: Memory,
        buffer_of: Callable[[str], int | None],
    ) -> None:
        self._roots, self._memory, self._buffer_of = roots, memory, buffer_of
        self._writers: dict[int, int] = {}  # by variable, the last one
        self._lookers: dict[int, list[int]] = {}  # since it was written last
        self._effects: list[int] = []  # outside effects, and writes, which it must not pass
        self._seen: int | None = None  # the last that is seen outside
        self._draws: int | None = None
        self._arrays: int | None = None  # the last that changes arrays or stacks of tensors
        self._fixed = -1  # the last that keeps its place
        self._makers: dict[str, list[int]] = {}
        self._takers: dict[str, list[int]] = {}

    def all_of(self, steps: Sequence[Step], places: Sequence[Any]) -> list[set[int]]:
        result = []
        for number, (step, place) in enumerate(zip(steps, places, strict=True)):
            before = self._by_name(number, step)
            before |= self._by_memory(number, step)
            before |= self._by_effect(number, step)
            if step.kind not in _PLAIN and (step.kind != "loop" or place is None):
                before.update(range(number))
                self._fixed = number
            elif self._fixed >= 0:
                before.add(self._fixed)
            before.discard(number)
            result.append(before)
        return result

    def _by_name(self, number: int, step: Step) -> set[int]:
        """Return dependencies by names: a name set in two branches is used after both."""
        before: set[int] = set()
        for name in (*step.inputs, *(name for name, _ in step.guard or ())):
            before.update(self._makers.get(name, ()))
            self._takers.setdefault(name, []).append(number)
        for name in step.outputs:
            if name != "_":
                made = self._makers.setdefault(name, [])
                before.update(made, self._takers.get(name, ()))
                made.append(number)
        return before

    def _by_memory(self, number: int, step: Step) -> set[int]:
        """Return a variable is read after and before it is written as the graph has it."""
        before: set[int] = set()
        written, seen = set(step.writes) | self._replaces(step), self._looks_at(step)
        for buffer in seen | written:
            keys = [*self._writers] if buffer == _ANY else [buffer, _ANY]
            before.update(self._writers[key] for key in keys if key in self._writers)
        for buffer in written:
            keys = [*self._lookers] if buffer == _ANY else [buffer, _ANY]
            before.update(other for key in keys for other in self._lookers.get(key, ()))
        for buffer in seen - written:
            self._lookers.setdefault(buffer, []).append(number)
        for buffer in written:
            self._writers[buffer] = number
            self._lookers.setdefault(buffer, []).append(number)
        return before

    def _replaces(self, step: Step) -> set[int]:
        """Return the variable that gets a value in new memory, and keeps the old one unchanged."""
        buffer = assigned_buffer(step, self._buffer_of)
        return set() if buffer is None else {buffer}

    def _looks_at(self, step: Step) -> set[int]:
        if step.kind == "loop":
            return {_ANY}
        buffers = {found for name in step.inputs if (found := self._buffer_of(name)) is not None}
        for name in step.inputs:
            for root in self._roots.get(name, ()):
                if root in self._memory.buffers and root not in self._memory.snapshots:
                    buffers.add(self._memory.buffers[root])
        return buffers

    def _by_effect(self, number: int, step: Step) -> set[int]:
        """Return dependencies by effects: effects and changes of variables keep their order."""
        if step.writes:
            self._effects.append(number)
            return set() if self._seen is None else {self._seen}
        if step.kind == "loop" or is_of_arrays(step):
            before = set() if self._arrays is None else {self._arrays}
            self._arrays = number
            return before
        if step.kind != "call" or not has_effect(step):
            return set()
        if draws_only(step):
            before = set() if self._draws is None else {self._draws}
            self._draws = number
            return before
        before, self._effects, self._seen = set(self._effects), [number], number
        return before


def has_effect(step: Step) -> bool:
    """Return True if a call does more than to give values."""
    if step.device is not None:
        return False
    if not getattr(step.function, "is_ordered", True):
        return False
    ops = ops_of(step)
    return not ops or any(not op.card.foldable for op in ops)


def is_of_arrays(step: Step) -> bool:
    """Return True for a call on an array or stack of tensors, which lives as long as the run."""
    return step.kind == "call" and step.op is not None and step.op.card.handle in _ARRAYS


def draws_only(step: Step) -> bool:
    """Return True if the only effect of a call is an advanced random stream."""
    return all(op.card.foldable or {"seed", "seed2"} <= op.attrs.keys() for op in ops_of(step))
