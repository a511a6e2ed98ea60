"""Dropout masks, written into the memory of the random draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stillflow.runtime.plan.steps import Name, Step, count_uses, one_step, with_joined


def join_dropouts(
    steps: Sequence[Step], constants: Mapping[str, Any], kept: Sequence[str]
) -> list[Step]:
    """Make one step of what turns uniform draws into ones and zeros.

    `tf.random_uniform` takes its draws times the width of its range and adds the lowest number,
    dropout compares with its rate and makes numbers of the truths. What is 1 and 0 changes
    nothing, and a comparison may give numbers at once.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name.
      kept: names that the plan gives back.
    """
    uses = count_uses(steps, kept)
    makers: dict[str, tuple[int, Step]] = {}
    joined: dict[int, tuple[Step, list[int]]] = {}
    for number, step in enumerate(steps):
        found = _mask(step, makers, uses, constants)
        if found is not None:
            joined[number] = found
        makers.update(dict.fromkeys(step.outputs, (number, step)))
    return with_joined(steps, joined)


def _mask(
    step: Step,
    makers: Mapping[str, tuple[int, Step]],
    uses: Mapping[str, int],
    constants: Mapping[str, Any],
) -> tuple[Step, list[int]] | None:
    """Return the last step of a conversion of booleans, and the numbers of its inputs' steps."""
    if not _is(step, "Cast") or len(step.arguments) != 2:
        return None
    comparison = _only_for(step.arguments[0], step, "GreaterEqual", makers, uses)
    if comparison is None or comparison[1].function is not torch.ge:
        return None
    parts, source = [comparison], comparison[1].arguments[0]
    for kinds, neutral in ((("Add", "AddV2"), 0), (("Mul",), 1)):
        found = next(
            filter(None, (_only_for(source, step, kind, makers, uses) for kind in kinds)), None
        )
        if found is not None and _is_number(found[1].arguments[1], neutral, constants):
            parts.append(found)
            source = found[1].arguments[0]
    draw = _only_for(source, step, "RandomUniform", makers, uses)
    if draw is None or draw[1].op.attrs["dtype"].torch_name != _type_name(step.arguments[1]):  # type: ignore[union-attr]
        return None
    rate = comparison[1].arguments[1]
    if isinstance(rate, Name):
        tensor = constants.get(rate)
        if tensor is None or getattr(tensor, "dim", lambda: 1)():
            return None
    joined = [part for _, part in reversed(parts)]
    mask = one_step([*joined, step], step.outputs, keep_mask, [source, rate])
    return mask, [number for number, _ in parts]


def keep_mask(draws: Any, rate: Any) -> Any:
    """1 for draws that are not below a rate, else 0; nobody else needs the draws."""
    return draws.ge_(rate)


def _is(step: Step, kind: str) -> bool:
    return (
        step.kind == "call"
        and step.op is not None
        and step.op.type == kind
        and not step.fused
        and not (step.keywords or len(step.outputs) != 1)
    )


def _only_for(
    name: Any,
    user: Step,
    kind: str,
    makers: Mapping[str, tuple[int, Step]],
    uses: Mapping[str, int],
) -> tuple[int, Step] | None:
    """Return the step of a type that makes a value for one other step alone, and its number."""
    found = makers.get(str(name))
    if found is None or uses[str(name)] != 1 or not _is(found[1], kind):
        return None
    return found if found[1].guard == user.guard else None


def _is_number(argument: Any, number: int, constants: Mapping[str, Any]) -> bool:
    """Return True if an argument is a constant scalar of this value."""
    constant = constants.get(str(argument)) if isinstance(argument, Name) else argument
    if isinstance(constant, torch.Tensor):
        return not constant.dim() and constant.is_cpu and constant.item() == number
    return isinstance(constant, float | int) and constant == number


def _type_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
