"""Gradients of a loop's body that are slices, as variables of the gradient's loop.

A loop variable is one tensor, slices are three. A gradient of row look-ups stays slices, one more
in every iteration; any other gradient becomes dense.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.constants import constant
from stillflow.ops.functional.nodes import positions
from stillflow.ops.variables.resource import variable_shape_op

# Variables of a gradient's loop before the gradients: its counter, the limit, how often it turns.
OWN_VARIABLES = 3


def with_slices(
    grads: Sequence[Any], body: Any, variables: list[Tensor], forward_inputs: Sequence[Tensor]
) -> list[Tensor]:
    """Make the body take as many tensors as it gives; give the variables that the loop starts as.

    `grads` are None where the node received none; `forward_inputs` are the other loop's.
    """
    inputs = [x for grad, x in zip(grads, forward_inputs, strict=False) if grad is not None]
    for x, result in zip(inputs, body.structured_outputs[OWN_VARIABLES:], strict=False):
        if not isinstance(result, IndexedSlices):
            continue
        if x.dtype == dtypes.resource:
            variables = _keep_slices(body, variables, result, x)
        else:
            _make_dense(body, result)
    return variables


def _place(body: Any, result: IndexedSlices) -> int:
    return next(i for i, item in enumerate(body.structured_outputs) if item is result)


def _make_dense(body: Any, result: IndexedSlices) -> None:
    with body.as_default():
        body.structured_outputs[_place(body, result)] = convert_to_tensor(result)
    body.outputs = nest.flatten(body.structured_outputs, expand_composites=True)


def _keep_slices(
    body: Any, variables: list[Tensor], result: IndexedSlices, handle: Tensor
) -> list[Tensor]:
    first = _no_slices(result, handle)
    parts = nest.flatten(first, expand_composites=True)
    with body.as_default():
        given = [body.capture(tensor, whitelisted=True) for tensor in parts]
        # They take the place of the dense gradient, and are no captures.
        new = set(given)
        body.inputs = [tensor for tensor in body.inputs if tensor not in new]
        body.reset_captures(pair for pair in body.captures if pair[1] not in new)
        grown = IndexedSlices(
            _appended(result.values.op, given[0]), _appended(result.indices.op, given[1]), given[2]
        )
    flat = positions(body.outputs)[result.values]
    body.structured_outputs[_place(body, result)] = grown
    body.outputs = nest.flatten(body.structured_outputs, expand_composites=True)
    body.inputs = [*body.inputs[:flat], *given, *body.inputs[flat + 1 :]]
    return [*variables[:flat], *parts, *variables[flat + 1 :]]


def _no_slices(result: IndexedSlices, handle: Tensor) -> IndexedSlices:
    """Return the gradient of a variable before the first iteration."""
    values = result.values
    shape = values.shape
    if shape.is_fully_defined():
        rows: Any = [0, *shape.as_list()[1:]]
    else:
        rows = concat([[0], variable_shape_op(handle)[1:]], 0)
    none = zeros(rows, dtype=values.dtype, name="values_init")
    indices = constant([], result.indices.dtype, name="indices_init")
    return IndexedSlices(none, indices, variable_shape_op(handle, name="shape_init"))


def _appended(old: Operation, start: Tensor) -> Tensor:
    """Give the body a result `start` instead of the dense gradient's rows."""
    joined = old._inputs[0].op
    if old.type != "Identity" or joined.type != "ConcatV2":
        raise ValueError(f"The gradient {old.name} is not a sum of slices")
    return concat([start, *joined._inputs[1:-1]], 0)
