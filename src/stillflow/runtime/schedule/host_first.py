"""Priorities of steps by which those of a GPU stand together.

Host steps in between would split a CUDA graph. TensorFlow launches a device's kernels from the
host, which runs ahead: steps of the host that a device waits for, or that change something or may
fail, run as soon as their inputs exist, then the device's steps, last those that only the host
needs. All that is visible in values or outside keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.runtime.ir.steps import Step
from stillflow.runtime.schedule.dependencies import (
    Access,
    Group,
    dependencies,
    followers,
    schedule,
)  # fmt: skip
from stillflow.runtime.schedule.steps import Effect, StepAccesses, has_effect

# Kinds of steps that do nothing but to give their names a value. All others keep their place.
_PLAIN = frozenset(("call", "read", "copy", "move", "number", "bool", "alias", "flag"))


def host_first(steps: Sequence[Step], places: Sequence[Any], accesses: StepAccesses) -> list[Step]:
    """Return the steps of a plan in the order of these priorities.

    Args:
      steps: in an order in which they may run.
      places: the group that each belongs to; None for those of the host. A loop that belongs to
        one changes no variable.
      accesses: what the steps read and write.
    """
    before = dependencies(
        _in_place(accesses.of(step), step.kind in _PLAIN or (step.kind == "loop" and place))
        for step, place in zip(steps, places, strict=True)
    )
    groups = [Group.FIRST if place is None else place for place in places]
    waiting = followers(before)
    for number in reversed(range(len(steps))):
        only_looks = not (steps[number].writes or has_effect(steps[number]))
        waited_for = any(groups[other] is not Group.LAST for other in waiting[number])
        if groups[number] is Group.FIRST and only_looks and not waited_for:
            groups[number] = Group.LAST
    return [steps[number] for number in schedule(before, groups=groups)]


def _in_place(access: Access, may_move: Any) -> Access:
    reads, writes = access
    if may_move:
        return Access({*reads, Effect.PLACE}, writes)
    return Access(reads, {*writes, Effect.PLACE})
