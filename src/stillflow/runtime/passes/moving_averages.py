"""Moving averages as updates of variables: `average -= (average - value) * rate`.

Batch normalization keeps two such averages a layer. Written as one update each, a plan joins them
as it joins those of an optimizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.plan.steps import Name, Step, count_uses, one_step, with_joined

_TYPES = (torch.float32, torch.float64)


def merge_averages(
    steps: Sequence[Step], constants: Mapping[str, Any], kept: Sequence[str]
) -> list[Step]:
    """Make one step of the difference, the product and the assignment of a moving average.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name; one of them is the rate.
      kept: names that the plan gives back.
    """
    uses = count_uses(steps, kept)
    makers: dict[str, tuple[int, Step]] = {}
    changed: dict[int, int] = {}  # variables by the number of the step that changed them last
    joined: dict[int, tuple[Step, list[int]]] = {}
    for number, step in enumerate(steps):
        found = _average(step, makers, uses, constants, changed)
        if found is not None:
            joined[number] = found
        changed.update(dict.fromkeys(step.writes, number))
        if step.op is not None and step.op.card.keeps:
            changed[-1] = number
        makers.update(dict.fromkeys(step.outputs, (number, step)))
    return with_joined(steps, joined)


def _average(
    step: Step,
    makers: Mapping[str, tuple[int, Step]],
    uses: Mapping[str, int],
    constants: Mapping[str, Any],
    changed: Mapping[int, int],
) -> tuple[Step, list[int]] | None:
    """Return the update that an assignment ends, and the numbers of the steps that go into it."""
    if step.kind != "call" or step.op is None or step.op.card.access != "subtract" or step.fused:
        return None
    if step.op.attrs.get("use_locking") or len(step.arguments) != 2:
        return None
    handle, change = step.arguments
    product = _only_for(change, step, torch.mul, makers, uses)
    if product is None:
        return None
    difference, rate = product[1].arguments
    minus = _only_for(difference, step, torch.sub, makers, uses)
    factor = constants.get(str(rate))
    if minus is None or factor is None or factor.numel() != 1 or factor.dtype not in _TYPES:
        return None
    average, value = minus[1].arguments
    since, read = makers.get(str(average), (0, None))
    if read is None or read.kind != "read" or read.inputs != [handle]:
        return None
    if not isinstance(value, Name) or not _same_shape(minus[1]):
        return None
    if any(changed.get(number, -1) > since for number in (*step.writes, -1)):
        return None
    if max(changed.values(), default=-1) > minus[0] and not _is_new(makers.get(value)):
        return None  # what is averaged may be a variable that was changed meanwhile
    function = GroupedUpdate("MovingAverage", 1, ("value",), {"rate": float(factor)})
    update = one_step([step, minus[1], product[1]], [], function, [handle, value])
    return update, [product[0], minus[0]]


def _only_for(
    name: Any,
    user: Step,
    function: Any,
    makers: Mapping[str, tuple[int, Step]],
    uses: Mapping[str, int],
) -> tuple[int, Step] | None:
    """Return the step that makes `name` by `function`, with the same guard and one consumer."""
    number, step = makers.get(str(name), (0, None))
    if step is None or uses[str(name)] != 1:
        return None
    plain = step.function is function and step.guard == user.guard
    plain = plain and not (step.keywords or step.fused)
    return (number, step) if plain and len(step.arguments) == 2 else None


def _is_new(maker: tuple[int, Step] | None) -> bool:
    """Return True if what a step made is no variable's memory."""
    op = None if maker is None else maker[1].op
    return op is not None and maker is not None and maker[1].kind == "call" and not op.card.view


def _same_shape(step: Step) -> bool:
    assert step.op is not None
    left, right = (tensor._dims for tensor in step.op._inputs)
    return left is not None and left == right and None not in left
