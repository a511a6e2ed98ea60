"""Reading a checkpoint and assigning what it holds, as one step.

Values go from the file to the variables' memory, and a thousand small ones at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.io.bundles import Restore
from stillflow.ops.variables.reference import Assignment
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.plan.steps import Step, one_step, with_joined


def join_restores(steps: list[Step]) -> list[Step]:
    """Join each RestoreV2 with the Assigns of its outputs, if nobody else takes these."""
    joined: dict[int, tuple[Step, Sequence[int]]] = {}
    for number, step in enumerate(steps):
        if isinstance(step.function, Restore) and (places := _assigns(steps, number)):
            joined[number] = _one_step(step, [steps[place] for place in places]), places
    return with_joined(steps, joined)


def _assigns(steps: list[Step], number: int) -> list[int]:
    """Return the assignments of a RestoreV2's outputs, in their order.

    Empty if there are others.
    """
    restore = steps[number]
    places: dict[str, int] = {}
    met: set[str] = set()  # variables that steps between use
    outputs = set(restore.outputs)
    for place in range(number + 1, len(steps)):
        step = steps[place]
        taken = outputs.intersection(step.inputs)
        if not taken:
            met.update(step.inputs, step.outputs)
            continue
        ref = step.arguments[0]
        if (
            not isinstance(step.function, Assignment)
            or step.guard != restore.guard
            or ref in met
            or ref in outputs
            or not taken.isdisjoint(places)
        ):
            return []
        met.add(str(ref))
        places[taken.pop()] = place
    return [places[name] for name in restore.outputs] if len(places) == len(outputs) else []


def _one_step(restore: Step, assigns: Sequence[Step]) -> Step:
    refs = [step.arguments[0] for step in assigns]
    arguments = [*restore.arguments, *refs]
    assert isinstance(restore.function, Restore)
    function = _into(restore.function, assigns)
    return one_step([restore, *assigns], [], function, arguments)


def _into(restore: Restore, assigns: Sequence[Step]) -> Callable[..., None]:
    functions: list[Any] = [step.function for step in assigns]
    ops = [step.op for step in assigns]
    shapes = [function.expected for function in functions]

    def run(prefix: Any, names: Any, specs: Any, *refs: Any) -> None:
        targets = [
            _memory(ref.value, shape, dtype)
            for ref, shape, dtype in zip(refs, shapes, restore.dtypes)
        ]
        known = all(target is not None for target in targets)
        if known and restore.into(targets, prefix, names, specs):
            for ref, target in zip(refs, targets):
                ref.value = target
            return
        found = restore(prefix, names, specs)
        values = [found] if len(refs) == 1 else found
        for function, op, ref, value in zip(functions, ops, refs, values):
            try:
                function(ref, value)
            except Exception as error:
                raise as_op_error(error, op) from error

    return run


def _memory(current: Any, shape: Any, dtype: Any) -> Any:
    """Return a variable's memory for its next value if the shape fits; None if unknown."""
    if current is not None:
        return current if shape is None or shape == current.shape else None
    if shape is None or dtype.torch_name is None:
        return None
    return torch.empty(shape, dtype=getattr(torch, dtype.torch_name))
