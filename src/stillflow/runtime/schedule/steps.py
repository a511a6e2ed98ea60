"""Accesses of the steps of a plan, for the scheduler."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.ops.variables.buffer import Buffer
from stillflow.runtime.ir.aliasing import roots_by_name
from stillflow.runtime.ir.steps import ANY, Memory, Step, Value, assigned_buffer, ops_of
from stillflow.runtime.schedule.dependencies import Access

_ARRAYS = ("stack", "tensor array")


class Effect(Enum):
    """Keys for what steps do besides giving values and changing variables."""

    OUTSIDE = "what the outside sees"
    STREAMS = "the random streams"
    ARRAYS = "arrays and stacks of tensors, which live as long as the run"
    PLACE = "its place: written by a step that keeps it, read by all others"


class StepAccesses:
    """Accesses of the steps of a plan.

    Args:
      steps: all of the plan.
      values: of the plan, by tensor.
      constants: by name.
      memory: which values may share memory.
    """

    def __init__(
        self, steps: Sequence[Step], values: Mapping[Tensor, Value],
        constants: Mapping[str, Any], memory: Memory,
    ) -> None:  # fmt: skip
        self._constants, self._memory = constants, memory
        self._roots = roots_by_name(list(steps), dict(values), memory)
        self._handles = {value.name for value in values.values() if value.is_handle}

    def buffer_of(self, name: str) -> int | None:
        """Return the number of the variable behind a handle's name; None if it is no handle."""
        held = self._constants.get(name)
        if isinstance(held, Buffer):
            return self._memory.number_of(held)
        return ANY if name in self._handles and held is None else None

    def shown(self, names: Collection[str]) -> set[int]:
        """Return the variables whose memory values may be, so that later writes show in them."""
        snapshots = self._memory.snapshots
        return {
            self._memory.buffers[root] for name in names for root in self._roots.get(name, ())
            if root in self._memory.buffers and root not in snapshots
        }  # fmt: skip

    def variables_of(self, name: str) -> set[int]:
        """Return the variables that a value was read from, without a copy."""
        buffers = self._memory.buffers
        return {buffers[root] for root in self._roots.get(name, ()) if root in buffers}

    def of(self, step: Step) -> Access:
        """Return the accesses of a step.

        The same name may be set in two branches: it is used after both.
        """
        reads: set[Hashable] = {*step.inputs, *(name for name, _ in step.guard or ())}
        writes: set[Hashable] = {*step.outputs, *step.writes} - {"_"}
        reads |= self.shown(step.inputs)
        reads |= {found for n in step.inputs if (found := self.buffer_of(n)) is not None}
        replaced = assigned_buffer(step, self.buffer_of)
        if replaced is not None:  # the variable gets new memory; values keep the old one
            writes.add(replaced)
        if step.kind == "loop":
            reads.add(ANY)
        seen, done = effects(step)
        return Access(reads | seen, writes | done)


def effects(step: Step) -> tuple[set[Effect], set[Effect]]:
    """Return the effects that a step keeps its place among, and those that it has.

    Changes of variables may change places with each other, but not with what the outside sees.
    """
    if step.kind == "loop":
        inside = [effects(each) for each in step.arguments[0].steps]
        return set(), {Effect.ARRAYS}.union(*(each for pair in inside for each in pair))
    if step.writes:
        return {Effect.OUTSIDE}, set()
    if is_of_arrays(step):
        return set(), {Effect.ARRAYS}
    if step.kind != "call" or not has_effect(step):
        return set(), set()
    draws = all(op.card.foldable or {"seed", "seed2"} <= op.attrs.keys() for op in ops_of(step))
    return set(), {Effect.STREAMS if draws else Effect.OUTSIDE}  # draws advance streams alone


def has_effect(step: Step) -> bool:
    """Return True if a call does more than to give values."""
    if step.device is not None:
        return False
    function = getattr(step.function, "__self__", step.function)  # a kernel's part, perhaps
    if not getattr(function, "is_ordered", True):
        return False
    ops = ops_of(step)
    return not ops or any(not op.card.foldable for op in ops)


def is_of_arrays(step: Step) -> bool:
    """Return True for a call on an array or stack of tensors, which lives as long as the run."""
    return step.kind == "call" and step.op is not None and step.op.card.handle in _ARRAYS
