"""Fusion of a checkpoint's read and its assignments, as one step.

Values go from the file to the variables' memory, and a thousand small ones at once.
"""

from __future__ import annotations

from typing import Any

from stillflow.ops.variables.reference import Assignment
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step, fuse


def fuse_restores(graph: StepGraph) -> None:
    """Replace a RestoreV2 and the Assigns that alone take its outputs by one step."""
    for step in graph:
        if step.op is None or step.op.card.effect != "reads files":
            continue
        # Imported here for the sake of start-up time, as they bring all file formats.
        from stillflow.ops.io.bundles import Restore
        from stillflow.ops.io.restored_variables import restore_into

        if isinstance(step.function, Restore) and (assigns := _assigns(graph, step)):
            functions: list[Any] = [assign.function for assign in assigns]
            restore = restore_into(step.function, functions, [assign.op for assign in assigns])
            arguments = [*step.arguments, *(assign.arguments[0] for assign in assigns)]
            parts = [step, *assigns]
            graph.replace(parts, fuse(parts, [], restore, arguments), at=step)


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
