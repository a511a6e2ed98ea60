"""Shared arguments of random operations: the shape of the result, and seeds."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dims, dtypes
from stillflow.graph.constant_value import KnownOutside, partial_shape
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import Dims
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.ops.arrays import stack as stack  # lists of tensors become tensors
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.memory_limits import require_room


def check_range(node: Node, first: int) -> None:
    """Raise an error unless the inputs `first` and `first + 1`, bounds of a range, are scalars."""
    checked_rank(node, first, 0, "minval must be 0-D, got shape ")
    checked_rank(node, first + 1, 0, "maxval must be 0-D, got shape ")


def shape_argument(node: Node, index: int = 0) -> Dims:
    """Return the dims that input `index`, a vector of sizes, stands for; ValueError for others."""
    checked_rank(node, index, 1, "shape must be a vector of {int32,int64}, got shape ")
    value = node.value(index)
    return node.shape_value(index) if value is None else dims.from_values(value.tolist())


def shape_sizes(node: Node, index: int = 0) -> tuple[int, ...] | None:
    """Return the sizes of input `index` if known; ResourceExhaustedError if too much for memory."""
    sizes = node.shape_value(index)
    if not dims.is_known(sizes):
        return None
    require_room(sizes, dtypes.half)
    return sizes


def read_sizes(shape: Any) -> tuple[int, ...]:
    """Return a shape tensor's sizes; ValueError below 0, ResourceExhaustedError beyond memory."""
    sizes = tuple(shape.tolist())
    for size in sizes:
        if size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
    require_room(sizes, dtypes.half)
    return sizes


def seed_argument(node: Node, index: int) -> None:
    """Raise ValueError unless a `seed` input is a vector of two."""
    (length,) = checked_rank(node, index, 1, "seed must have shape [2], not ")
    if node.planning and length not in (2, None):
        raise ValueError(f"seed must have shape [2], not [{length}]")
    dims.with_value(length, 2)


def shape_tensor(shape: Any, empty: Any = dtypes.int32) -> Tensor:
    """Return a shape argument as a tensor named "shape", of dtype `empty` if there are no sizes."""
    dtype = None
    if isinstance(shape, (tuple, list)):
        if not shape:
            dtype = empty
        else:
            shape = tuple(map(dimension_value, shape))
    return convert_to_tensor(shape, dtype=dtype, name="shape")


def set_static_shape(tensor: Tensor, shape: Any, suffix: Any = ()) -> None:
    """Set the known static shape of `tensor`, drawn for the argument `shape`, inside a function.

    Constants outside the function count, too; `suffix` follows.
    """
    if tensor.shape.is_fully_defined() or not tensor.graph.building_function:
        return
    known = partial_shape(shape_tensor(shape), KnownOutside)
    tensor.set_shape(TensorShape(known).concatenate(suffix))
