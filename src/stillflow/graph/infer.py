"""Static shapes and known values of a new operation, by its card."""

from __future__ import annotations

from typing import Any

from stillflow.graph.dims import InvalidSize, to_string
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation
from stillflow.graph.summarize import summarize
from stillflow.graph.tensor_shape import TensorShape
from stillflow.util.raised import is_deliberate


def as_dims(dims: Any) -> tuple[int | None, ...] | None:
    return dims._dims if isinstance(dims, TensorShape) else dims


def infer_shapes(op: Operation) -> None:
    """Set the outputs' shapes, and their values where known; ValueErrors are in TF's words."""
    card = op.card
    node = Node(op)
    try:
        if card.check_part is not None:
            card.check_part(node)
        if card.shape_part is not None:
            set_dims(op, card.shape_part(node))
    except InvalidSize as error:
        raise ValueError(str(error)) from None
    except ValueError as error:
        if not is_deliberate(error):
            raise ValueError(_unusable(op)) from error
        raise ValueError(explain(op, error)) from None
    except Exception as error:
        if is_deliberate(error):  # an error of another type, with a text for users
            raise
        raise ValueError(_unusable(op)) from error
    if op._inputs and op._outputs and op._inputs[0]._handle_dtype is not None:
        _pass_handle_data(op)
    if card.value_part is not None:
        node.evaluates = False  # the numpy of cards is enough until somebody asks
        try:
            value = card.value_part(node)
        except Exception as error:
            if is_deliberate(error) or not op._inputs:  # a constant without a value is none
                raise
            value = None  # a run says it, with the operation's name
        if value is not None:
            op._values = list(value) if isinstance(value, (list, tuple)) else [value]


def _unusable(op: Operation) -> str:
    """Return the message for inputs and attributes that a shape rule cannot use."""
    problem = ValueError(f"{op.type} cannot have these inputs and attributes")
    return describe(problem, op, _Staged(op, set()))


# Ops whose outputs may be lists that came out of a list, but not the same list.
_TAKING_ELEMENTS = frozenset(
    ("TensorListPopBack", "TensorListGetItem", "TensorListStack", "TensorListGather")
)


def _pass_handle_data(op: Operation) -> None:
    """Pass handle data through Identity, Switch and Enter, which keep the variable.

    An array may hold handles of variables of several shapes.
    """
    if op.type in _TAKING_ELEMENTS:
        return
    source = op._inputs[0]
    if op.type == "Merge" and source.dtype.name == "variant":
        return  # the list of another branch may hold anything
    for tensor in op._outputs:
        same = source.dtype.name == "variant" or tensor._dims == source._dims
        if tensor.dtype == source.dtype and tensor._handle_dtype is None and same:
            tensor._handle_dims, tensor._handle_dtype = source._handle_dims, source._handle_dtype


def set_dims(op: Operation, shapes: Any) -> None:
    outputs = op._outputs
    if isinstance(shapes, list):
        if len(shapes) != len(outputs):
            raise AssertionError(f"shape rule of {op.type} gave {len(shapes)} shapes")
        for tensor, dims in zip(outputs, shapes, strict=True):
            tensor._dims = as_dims(dims)
    else:
        outputs[0]._dims = as_dims(shapes)


# How many elements of an input's value a message shows.
_SHOWN_ELEMENTS = 256


class _Staged(Node):
    """A node that knows the values of some inputs only."""

    __slots__ = ("known",)

    def __init__(self, op: Operation, known: set[int]) -> None:
        super().__init__(op)
        self.known = known

    def value(self, index: int) -> Any:
        value = super().value(index)
        return value if index in self.known else None

    def shape_value(self, index: int) -> tuple[int | None, ...] | None:
        dims = super().shape_value(index)
        if index in self.known:
            return dims
        length = self.dims(index)
        return (
            None
            if length is None or len(length) != 1 or length[0] is None
            else ((None,) * length[0])
        )


def explain(op: Operation, error: ValueError) -> str:
    """Return the message for a rejected operation.

    TF infers shapes first without values, then with the values requested so far, and so on; errors
    of an early round are reported without values.
    """
    known: set[int] = set()
    while True:
        node = _Staged(op, known)
        try:
            if op.card.check_part is not None:
                op.card.check_part(node)
            if op.card.shape_part is not None:
                op.card.shape_part(node)
        except InvalidSize as found:
            return str(found)
        except ValueError as found:
            return describe(found, op, node)
        more = {*node.asked, *node.asked_shapes} - known
        if not more:
            return describe(error, op, node)
        known |= more


def describe(error: Exception, op: Operation, node: Node, given: Any = None) -> str:
    """Return TF's message: the fault, the op, its input shapes and values, as `node` has seen.

    `given` are the inputs' dimensions, by default those that the graph knows.
    """
    given = [tensor._dims for tensor in op._inputs] if given is None else given
    shapes = ", ".join(map(to_string, given))
    text = f"{error} for '{op.name}' (op: '{op.type}') with input shapes: {shapes}"
    values, partial = [], []
    known = node.known if isinstance(node, _Staged) else range(len(op._inputs))
    for index in sorted(known):
        if index >= len(op._inputs):
            continue
        dims = Node(op).shape_value(index) if index in node.asked_shapes else None
        value = Node(op).value(index) if index in node.asked else None
        if dims is not None:
            partial.append(f"input[{index}] = {to_string(dims)}")
        elif value is not None:
            values.append(f"input[{index}] = <{summarize(value, _SHOWN_ELEMENTS)}>")
    if values:
        text += f" and with computed input tensors: {', '.join(values)}"
    if partial:
        text += f" and with input tensors computed as partial shapes: {','.join(partial)}"
    return text + "."
