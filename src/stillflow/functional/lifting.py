"""Copies of what a function's body computes, in the graph outside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor


class UnliftableError(Exception):
    """Error for a part of a function's body that depends on a missing argument."""

    ag_pass_through = True  # AutoGraph leaves its message as it is


def lift(tensors: Sequence[Tensor], body: FuncGraph, graph: Graph) -> list[Tensor]:
    """Copy the computation of some tensors into another graph; return the copies.

    Args:
      tensors: of the body, or of graphs outside, which stay as they are.
      body: a function's body.
      graph: where the copies are to be.

    Raises:
      UnliftableError: if one depends on an argument, or on what the function captured.
    """
    copies: dict[Tensor, Tensor] = {}
    needed: set[Operation] = set()
    for tensor in tensors:
        if tensor.home is body:
            needed |= _needed_by(tensor, body.inputs)
    for op in body._operations:
        if op not in needed:
            continue
        inputs = [copies[each] for each in op._inputs]
        types = [each.dtype for each in op._outputs]
        made = graph.add_op(op.card, inputs, dict(op.attrs), types, graph.unique_name(op.name))
        copies.update(zip(op._outputs, made._outputs, strict=True))
    return [copies.get(tensor, tensor) for tensor in tensors]


def _needed_by(tensor: Tensor, refused: Collection[Tensor]) -> set[Operation]:
    """Return the operations that a tensor is computed by."""
    came_from: dict[Operation, Operation | None] = {tensor.op: None}
    waiting = [tensor.op]
    given = {each.op for each in refused}
    while waiting:
        op = waiting.pop()
        if op in given:
            raise UnliftableError(
                f"Unable to lift tensor {tensor!r} because it depends transitively on placeholder "
                f"{op!r} via at least one path, e.g.: {_path(op, came_from)}"
            )
        for source in (*(each.op for each in op._inputs), *op._control_inputs):
            if source not in came_from:
                came_from[source] = op
                waiting.append(source)
    return set(came_from)


def _path(op: Operation | None, came_from: dict[Operation, Any]) -> str:
    steps: list[str] = []
    while op is not None:
        steps.append(f"{op.name} ({op.type})")
        op = came_from[op]
    return " <- ".join(reversed(steps))
