"""Shape invariants of a loop's variables, and their check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec
from stillflow.ops.control_flow.frames import is_loop_enter


def is_less_or_equal(specific: TensorShape, general: TensorShape) -> bool:
    """Return True if every tensor of shape `specific` is also of shape `general`."""
    a, b = specific._dims, general._dims
    if b is None:
        return True
    if a is None or len(a) != len(b):
        return False
    return all(y is None or x == y for x, y in zip(a, b, strict=True))


def shape_invariant(variable: Any, shape: Any = None) -> Any:
    """Return the shape promised for a loop variable; a list with one for each part of a composite.

    `shape` is a `TensorShape` or `TypeSpec`; None stands for all that is known.
    """
    if isinstance(variable, CompositeTensor):
        spec = variable._type_spec if shape is None else _type_spec(variable, shape)
        return [part.shape for part in nest.flatten(spec, expand_composites=True)]
    if shape is None:
        return variable.shape
    if isinstance(shape, TensorSpec):
        if variable.dtype != shape.dtype:
            raise TypeError(f"TensorSpec {shape!r} is not compatible with {variable!r}")
        return shape.shape
    if isinstance(shape, TypeSpec):
        raise TypeError(f"TypeSpec {shape!r} is not compatible with {variable!r}")
    return shape


def _type_spec(variable: CompositeTensor, shape: Any) -> Any:
    if isinstance(shape, TypeSpec):
        if not shape.is_compatible_with(variable):
            raise TypeError(f"TypeSpec {shape!r} is not compatible with {variable!r}")
        return shape
    if not isinstance(shape, TensorShape):
        raise TypeError(f"Expected shape to be a TypeSpec or TensorShape, got {shape!r}")
    try:
        return variable._shape_invariant_to_type_spec(shape)
    except NotImplementedError:
        raise TypeError(
            f"To describe or constrain a {type(variable).__name__}, use a "
            f"{type(variable._type_spec).__name__} instead of a TensorShape."
        ) from None


def set_shape_invariants(inputs: Sequence[Tensor], enters: Sequence[Tensor], shapes: Any) -> None:
    """Give the Enters of a loop their shape invariants."""
    flat = nest.flatten(shapes)
    if not all(isinstance(shape, TensorShape) for shape in flat):
        raise ValueError("`shapes` must be a (possibly nested) list of shapes.")
    for value, variable, shape in zip(inputs, enters, flat, strict=False):
        if not is_less_or_equal(value.shape, shape):
            raise ValueError(
                f"The shape invariant specified for {value.name} is not compatible with the "
                "initial shape of the loop variable. It enters the loop with shape "
                f"{value.shape}, but the specified shape invariant is {shape}."
            )
        variable.set_shape(shape)


def enforce_shape_invariant(merged: Tensor, following: Tensor) -> None:
    """Raise ValueError for a loop variable whose shape changes from one iteration to the next."""
    if is_less_or_equal(following.shape, merged.shape):
        return
    entering = merged.op._inputs[0].op
    assert is_loop_enter(entering)
    value = entering._inputs[0]
    raise ValueError(
        f"Input tensor '{value.name}' enters the loop with shape {value.shape}, but has shape "
        f"{following.shape} after one iteration. To allow the shape to vary across iterations, "
        "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
    )
