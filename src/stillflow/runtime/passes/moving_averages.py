"""Fuse moving averages into updates of variables: `average -= (average - value) * rate`.

Batch normalization keeps two such averages a layer. Written as one update each, they are grouped as
the updates of an optimizer are.
"""

from __future__ import annotations

import torch

from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse, may_meet
from stillflow.runtime.passes.patterns import Call, match_argument

_TYPES = (torch.float32, torch.float64)
PRODUCT = Call(torch.mul, Call(torch.sub))


def fuse_moving_averages(graph: StepGraph) -> None:
    """Replace AssignSub(v, Mul(Sub(v, value), rate)) by one update."""
    for step in graph:
        if step.op is None or step.op.card.access != "subtract" or step.fused:
            continue
        if step.op.attrs.get("use_locking") or len(step.arguments) != 2:
            continue
        found = match_argument(PRODUCT, graph, step, 1)
        if found is None:
            continue
        product, difference = found
        if len(product.arguments) != 2 or len(difference.arguments) != 2:
            continue
        rate = graph.constant(product.arguments[1])
        if not isinstance(rate, torch.Tensor) or rate.numel() != 1 or rate.dtype not in _TYPES:
            continue
        if _is_of(graph, difference, step):
            _replace(graph, [step, difference, product], float(rate))


def _is_of(graph: StepGraph, difference: Step, assignment: Step) -> bool:
    """Return True for the difference of the variable that is assigned and a value of its shape.

    Nothing between its reading and the assignment may change it; and no variable that the value may
    be may change before it is used.
    """
    average, value = difference.arguments
    read = graph.producer(average)
    if read is None or read.kind != "read" or read.inputs != [assignment.arguments[0]]:
        return False
    if not isinstance(value, Name) or not _same_shape(difference):
        return False
    between = graph.writers(read, assignment)
    if any(may_meet(writer.writes, assignment.writes) for writer in between):
        return False
    return _is_new(graph.producer(value)) or not graph.writers(difference, assignment)


def _replace(graph: StepGraph, parts: list[Step], rate: float) -> None:
    assignment, difference, _ = parts
    function = GroupedUpdate("MovingAverage", 1, ("value",), {"rate": rate})
    arguments = [assignment.arguments[0], difference.arguments[1]]
    graph.replace(parts, fuse(parts, [], function, arguments), at=assignment)


def _is_new(producer: Step | None) -> bool:
    """Return True if a value is no variable's memory."""
    op = None if producer is None else producer.op
    return op is not None and producer is not None and producer.kind == "call" and not op.card.view


def _same_shape(step: Step) -> bool:
    assert step.op is not None
    left, right = (tensor._dims for tensor in step.op._inputs)
    return left is not None and left == right and None not in left
