"""The accuracy of a classifier as one step.

Most programs compute it from four or five operations on few numbers, and many do so at every step:
`reduce_mean(cast(equal(argmax(logits, 1), labels), float32))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.ops.math import row_extremes
from stillflow.runtime.plan.steps import Step, count_uses, in_turn, is_call, one_step, stays


def join_accuracies(
    steps: Sequence[Step], constants: Mapping[str, Any], kept: Sequence[str]
) -> list[Step]:
    """Make one step of those that compute in how many rows the largest number is as labeled.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name.
      kept: names that the plan gives back.
    """
    uses = count_uses(steps, kept)
    makers = {name: step for step in steps for name in step.outputs}
    alone = {name: step for name, step in makers.items() if uses[name] == 1}
    left: dict[int, Step] = {id(step): step for step in steps}
    for step in steps:
        parts = _parts(step, alone)
        if not parts:
            continue
        joined = _joined(parts, constants)
        if all(stays(name, makers) for name in joined.inputs):
            left[id(step)] = joined
            for part in parts[1:]:
                del left[id(part)]
    return list(left.values())


def _parts(mean: Step, makers: Mapping[str, Step]) -> list[Step]:
    """Return the steps of an accuracy, from the last to the first; none if it is something else."""
    if not _is_one_number(mean):
        return []
    cast = _maker(mean, 0, "Cast", makers)
    equal = None if cast is None else _maker(cast, 0, "Equal", makers)
    if cast is None or equal is None or len(equal.arguments) != 2:
        return []
    places = [_maker(equal, side, "ArgMax", makers) for side in (0, 1)]
    found = [step for step in places if step is not None and _is_of_rows(step)]
    return [mean, cast, equal, *found] if found else []


def _maker(step: Step, argument: int, kind: str, makers: Mapping[str, Step]) -> Step | None:
    """Return the step that makes an argument for `step` alone, if it is of this kind."""
    maker = makers.get(str(step.arguments[argument]))
    found = maker if is_call(maker, kind) else None
    return found if found is not None and found.guard == step.guard else None


def _is_one_number(step: Step) -> bool:
    if step.kind != "call" or step.op is None or step.op.type != "Mean":
        return False
    (result,) = step.op._outputs
    return result._dims == () and result.dtype == dtypes.float32 and len(step.arguments) == 1


def _is_of_rows(step: Step) -> bool:
    """Return True if places are looked for in the rows of a float32 matrix."""
    assert step.op is not None
    tensor = step.op._inputs[0]
    is_matrix = tensor._rank == 2 and tensor.dtype.base_dtype == dtypes.float32
    return is_matrix and step.arguments[1:] in ([1], [-1])


def _joined(parts: Sequence[Step], constants: Mapping[str, Any]) -> Step:
    mean, cast, equal, *places = parts
    rows, labels = places[0].arguments[0], equal.arguments[1]
    if len(places) == 2:
        labels = places[1].arguments[0]
    elif labels == places[0].outputs[0]:
        labels = equal.arguments[0]

    arguments = [rows, labels]
    plain = in_turn([*places, equal, cast, mean], arguments, mean.outputs, constants)

    def accuracy(rows: Any, labels: Any) -> Any:
        found = row_extremes.share(rows, labels) if row_extremes.takes(rows) else None
        return plain(rows, labels)[0] if found is None else found

    return one_step(parts, mean.outputs, accuracy, arguments)
