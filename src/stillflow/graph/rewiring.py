"""Changes to edges of an existing graph, and checks of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph import operation
from stillflow.graph.dims import merge, to_string
from stillflow.graph.dtypes import cpp_name

if TYPE_CHECKING:
    from stillflow.graph.graph import Graph
    from stillflow.graph.operation import Operation, Tensor


def update_input(op: Operation, index: int, tensor: Any) -> None:
    """Make `tensor` the input of `op` at a position.

    InvalidArgumentError if its static shape contradicts that of the input so far.
    """
    from stillflow.graph.operation import Tensor

    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor must be a Tensor: {tensor}")
    if tensor.graph is not op.graph:
        raise ValueError(f"{tensor} must be from the same graph as {op}.")
    inputs = op._inputs
    if index >= len(inputs):
        raise errors.out_of_range(
            f"Cannot update edge. Input index [{index}] is greater than the number of total "
            f"inputs [{len(inputs)}]."
        )
    _check_shapes(inputs[index], tensor)
    replace_input(op, index, tensor)
    op.graph._rewired.add(op)


def replace_input(op: Operation, index: int, tensor: Tensor) -> None:
    """Make `tensor` the input of `op` at a position, without looking at it."""
    old = op._inputs[index]
    if old is not tensor:
        op._inputs[index] = tensor
        old._consumers.remove(op)
        tensor._consumers.append(op)
        # A known value of the former input is no longer valid: the input of a loop is not known.
        op._values, op._varies = None, False
    op.graph._changed()


def _check_shapes(old: Tensor, new: Tensor) -> None:
    try:
        merge(new._dims, old._dims)
    except ValueError:
        raise errors.invalid_argument(
            f"Cannot update edge, incompatible shapes: {to_string(new._dims)} and "
            f"{to_string(old._dims)}."
        ) from None


def check(graph: Graph) -> None:
    """Raise InvalidArgumentError for a graph whose changed edges are of types that cannot run."""
    if not graph._rewired:
        return
    for op in graph._rewired:
        _check_types(op)
    graph._rewired.clear()


def _check_types(op: Operation) -> None:
    for index, (tensor, dtype) in enumerate(zip(op._inputs, _input_types(op), strict=False)):
        if tensor.dtype.base_dtype != dtype:
            raise errors.InvalidArgumentError(
                op.node_def,
                op,
                f"Input {index} of node {op.name} was passed {cpp_name(tensor.dtype.base_dtype)} "
                f"from {tensor.name} incompatible with expected {cpp_name(dtype)}.",
            )


def _input_types(op: Operation) -> list[Any]:
    """Return the input types that the signature of an operation requires, by its attributes."""
    types: list[Any] = []
    for arg in op.card.signature.inputs:
        if arg.type_list_attr is not None:
            types.extend(op.attrs[arg.type_list_attr])
            continue
        dtype = arg.dtype if arg.dtype is not None else op.attrs[arg.type_attr or ""]
        types.extend([dtype] * (op.attrs[arg.number_attr] if arg.number_attr else 1))
    return types


operation.update_input.provide(update_input)
