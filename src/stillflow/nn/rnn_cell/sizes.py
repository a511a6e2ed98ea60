"""Shapes and first values of the states of cells."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat as concat_
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.constants import constant


def _part(which: str, value: Any) -> tuple[Any, Any]:
    """Return a part of a shape as a vector in the graph (None if unknown), and its static value."""
    if isinstance(value, Tensor):
        known = static_value(value)
        if value.shape.ndims == 0:
            return expand_dims(value, 0), known
        if value.shape.ndims != 1:
            raise ValueError(
                f"{which} tensor must be either a scalar or vector, but saw tensor: {value}"
            )
        return value, known
    shape = as_shape(value)
    known = shape.as_list() if shape.ndims is not None else None
    return constant(known, dtype=dtypes.int32) if shape.is_fully_defined() else None, known


def concat(prefix: Any, suffix: Any, static: bool = False) -> Tensor | list[int | None] | None:
    """Return the shape whose first dimensions are `prefix` and whose others are `suffix`.

    Both are numbers, shapes, or integer tensors. A `static` one is a list of sizes, or None.
    """
    first, known_first = _part("prefix", prefix)
    second, known_second = _part("suffix", suffix)
    if static:
        shape = as_shape(known_first).concatenate(known_second)
        return shape.as_list() if shape.ndims is not None else None
    if first is None or second is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return concat_((first, second), 0)


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for every size in the structure `state_size`."""

    def zeros(size: Any) -> Tensor:
        value = fill.zeros(concat(batch_size, size), dtype=dtype)
        value.set_shape(concat(batch_size, size, static=True))
        return value

    return nest.map_structure(zeros, state_size)


def known_depth(inputs_shape: Any) -> int:
    """Return the size of the last dimension; ValueError if it is unknown."""
    dims = TensorShape(inputs_shape).as_list()
    if dims[-1] is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {tuple(dims)}")
    depth: int = dims[-1]
    return depth
