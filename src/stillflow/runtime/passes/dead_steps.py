"""Remove steps whose results nobody takes.

A control input on a pure operation orders nothing that can be seen: `tf.tuple` ties the gradients
of both arguments of a power together, and one of them is that of a constant.
"""

from __future__ import annotations

from collections.abc import Collection

from stillflow.ops.kernels import order_only
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step


def remove_dead_steps(graph: StepGraph) -> None:
    """Remove pure steps that only compute what no other step takes."""
    for step in reversed(graph.steps):
        if any(map(graph.uses, step.outputs)) or step.op in graph.targets:
            continue
        if _is_pure(step):
            graph.remove(step)


def live_steps(steps: list[Step], results: Collection[str]) -> list[Step]:
    """Return the steps without dead ones; `results` are taken after them."""
    graph = StepGraph(steps, results=list(results))
    remove_dead_steps(graph)
    return graph.steps


def remove_no_ops(graph: StepGraph) -> None:
    """Remove the steps of NoOp and ControlTrigger: what they order is in order."""
    for step in graph.running(order_only):
        graph.remove(step)


def _is_pure(step: Step) -> bool:
    """Return True for a kernel without effect; a read raises for variables without a value."""
    if step.kind == "move":
        return True
    if step.kind != "call" or step.op is None or not step.outputs or step.writes:
        return False
    return step.op.card.foldable and not step.op.card.asserts
