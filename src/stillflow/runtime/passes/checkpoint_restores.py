"""Fusion of a checkpoint's read and its assignments, as one step.

Values go from the file to the variables' memory, and a thousand small ones at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.io.bundles import Restore
from stillflow.ops.variables.reference import Assignment
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step, fuse


def fuse_restores(graph: StepGraph) -> None:
    """Replace a RestoreV2 and the Assigns that alone take its outputs by one step."""
    for step in graph:
        assigns = _assigns(graph, step) if isinstance(step.function, Restore) else []
        if assigns:
            graph.replace([step, *assigns], _fused(step, assigns), at=step)


def _assigns(graph: StepGraph, restore: Step) -> list[Step]:
    """Return the assignments of a RestoreV2's outputs, in their order.

    Empty if there are others.
    """
    used_once = [name for name in restore.outputs if graph.uses(name) == 1]
    found = [step for name in used_once for step in graph.consumers(name)]  # none of a fetch
    if len(found) != len(set(map(id, found))) or len(found) != len(restore.outputs):
        return []
    return found if all(_is_assigned(graph, restore, step) for step in found) else []


def _is_assigned(graph: StepGraph, restore: Step, step: Step) -> bool:
    """Return True for an assignment to a variable that no step uses since the restore."""
    if not isinstance(step.function, Assignment) or step.guard != restore.guard:
        return False
    reference = step.arguments[0]
    users = [user for user in graph.consumers(reference) if user is not step]
    between = range(graph.place(restore), graph.place(step))
    return graph.is_produced_before(reference, restore) and not any(
        graph.place(user) in between for user in users
    )


def _fused(restore: Step, assigns: Sequence[Step]) -> Step:
    refs = [step.arguments[0] for step in assigns]
    arguments = [*restore.arguments, *refs]
    assert isinstance(restore.function, Restore)
    function = _into(restore.function, assigns)
    return fuse([restore, *assigns], [], function, arguments)


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


def _memory(current: Any, shape: Any, dtype: Any) -> torch.Tensor | None:
    """Return the memory for a variable's next value of this shape; None if it is not known."""
    if current is not None:
        return current if shape is None or shape == current.shape else None
    if shape is None or dtype.torch_name is None:
        return None
    return torch.empty(shape, dtype=getattr(torch, dtype.torch_name))
