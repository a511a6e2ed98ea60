"""Static shapes of the results of a function's call, by the shapes of its arguments.

A body is built for arguments of some shapes, often unknown ones; a call may know more. The shape
rules of the operations that depend on such arguments are applied again, for this call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.constant_value import Dims, Known, constant_value, partial_shape
from stillflow.graph.infer import as_dims, describe
from stillflow.graph.node import Node

if TYPE_CHECKING:
    import numpy as np

    from stillflow.graph.func_graph import FuncGraph
    from stillflow.graph.operation import Operation, Tensor

# The targets of these types are recorded on the tensors of the body, which all calls share.
_POINTERS = ("resource", "variant")


class RefusedInside(dims_lib.InvalidSize):
    """Error: an operation of a body rejects the arguments of a call; TF names it, not the call."""


class _CallFacts(Known):
    """Values and shapes known of a body's tensors in one call."""

    def __init__(self, body: FuncGraph, inputs: list[Tensor], shapes: list[Dims]) -> None:
        self.shapes: dict[Tensor, Dims] = {}  # where the call knows more than the body
        self.handles: dict[Tensor, Dims] = {}
        self.values: dict[Tensor, Any] = {}
        for inner, outer, shape in zip(body.inputs, inputs, shapes, strict=True):
            if shape != inner._dims and shape is not None:
                self.shapes[inner] = shape
            if inner._handle_dims is None and outer._handle_dims is not None:
                self.handles[inner] = outer._handle_dims

    def dims(self, tensor: Tensor) -> Dims:  # type: ignore[override]
        return self.shapes.get(tensor, tensor._dims)

    def value(self, tensor: Tensor) -> np.ndarray | None:  # type: ignore[override]
        found = constant_value(tensor)
        return self.values.get(tensor) if found is None else found

    def differ(self, op: Operation) -> bool:
        """Return True if the call knows more about an operation's inputs than the body."""
        return any(
            tensor in self.shapes or tensor in self.values or tensor in self.handles
            for tensor in op._inputs
        )


class _CalledNode(Node):
    """An operation of a body, as one call sees it."""

    __slots__ = ("facts",)

    def __init__(self, op: Operation, facts: _CallFacts) -> None:
        super().__init__(op, evaluates=False)
        self.facts = facts

    def dims(self, index: int) -> Dims:
        return self.facts.dims(self.op._inputs[index])

    def variable_dims(self, index: int) -> Dims:
        return self.facts.handles.get(self.op._inputs[index], super().variable_dims(index))

    def out_dims(self, index: int = 0) -> Dims:
        return self.facts.dims(self.op._outputs[index])

    def value_now(self, tensor: Tensor) -> np.ndarray | None:
        return self.facts.value(tensor)

    def shape_value(self, index: int) -> Dims:
        if index not in self.asked_shapes:
            self.asked_shapes.append(index)
        return partial_shape(self.op._inputs[index], self.facts)


def shapes_of_call(body: FuncGraph, inputs: list[Tensor], shapes: list[Dims]) -> list[Dims]:
    """Return the shapes of a call's results; RefusedInside if an operation inside rejects these."""
    facts = _CallFacts(body, inputs, shapes)
    if facts.shapes or facts.handles:
        for op in body._operations:
            if op._inputs and facts.differ(op):
                _infer(op, facts)
    return [facts.dims(tensor) for tensor in body.outputs]


def _infer(op: Operation, facts: _CallFacts) -> None:
    """Record the known values and shapes of an operation's outputs in a call."""
    card, node = op.card, _CalledNode(op, facts)
    if card.shape_part is None or any(t.dtype.name in _POINTERS for t in op._outputs):
        return
    try:
        if card.check_part is not None:
            card.check_part(node)
        found = card.shape_part(node)
    except ValueError as error:
        given = [facts.dims(tensor) for tensor in op._inputs]
        raise RefusedInside(describe(error, op, node, given)) from None
    except errors.OpError:
        return
    found = found if isinstance(found, list) else [found]
    for tensor, shape in zip(op._outputs, map(as_dims, found), strict=False):
        known = _both(shape, tensor._dims)
        if known != tensor._dims:
            facts.shapes[tensor] = known
    if card.value_part is not None and op._values is None:
        value = card.value_part(node)
        values = value if isinstance(value, (list, tuple)) else [value]
        facts.values.update(
            (t, v) for t, v in zip(op._outputs, values, strict=False) if v is not None
        )


def _both(inferred: Dims, built: Dims) -> Dims:
    """Merge the shape inferred for a call with the shape that the program stated for the body."""
    compatible = dims_lib.is_compatible(inferred, built)
    return dims_lib.merge(inferred, built) if compatible else inferred
