"""Broadcasting to a shape, and the axes for a broadcasting operation's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import MAX_ELEMENTS
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_shape import TensorShape, as_shape, shape_from_dims
from stillflow.ops.forward_declarations import reduce_sum
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import either, index_tensor, int_array, ints
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

# ---- BroadcastTo

broadcast_to_op = op(
    "BroadcastTo(input: T, shape: Tidx) -> output: T; T: type; Tidx: {int32, int64} = int32",
    view=True,
    numbers=("shape",),
    batching="vmap",
)


@broadcast_to_op.shape
def broadcast_to_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(1), 1)
    source, target = node.dims(0), node.shape_value(1)
    if target is None or source is None:
        return target
    if node.planning and not _broadcastable(source, target):
        raise ValueError(_incompatible(source, target))
    dims_lib.with_rank_at_most(source, len(target))
    result = list(target)
    for index in range(1, len(source) + 1):
        dim = source[-index]
        if dim is not None and dim > 1:
            result[-index] = dims_lib.merge_dim(dim, target[-index])
    return tuple(result)


def _broadcastable(source: Sequence[Any], target: Sequence[Any]) -> bool:
    return len(source) <= len(target) and all(
        a in (None, 1) or b in (None, a)
        for a, b in zip(reversed(source), reversed(target), strict=False)
    )


def _incompatible(source: Sequence[Any], target: Sequence[Any]) -> str:
    given, wanted = (dims_lib.to_string(tuple(dims)) for dims in (source, target))
    if len(source) > len(target):
        return (
            f"Rank of input ({len(source)}) must be no greater than rank of output shape "
            f"({len(target)})."
        )
    pairs = zip(reversed(source), reversed(target), strict=False)
    if all(1 in (a, b) or a == b for a, b in pairs):
        return f"Unable to broadcast tensor of shape {given} to tensor of shape {wanted}"
    return f"Incompatible shapes: {given} vs. {wanted}"


@broadcast_to_op.value
def broadcast_to_value(node: Node) -> Array | None:
    value, dims = node.value(0), node.out_dims()
    wanted = node.value(1)
    if value is None or wanted is None or not dims_lib.is_known(dims):
        return None
    if min(wanted.ravel(), default=0) < 0 or prod(dims) > MAX_ELEMENTS:
        return None
    return np.broadcast_to(value, dims) if _broadcastable(value.shape, dims) else None


def _target(shape: Any) -> list[int]:
    target = ints(shape)
    for size in target:
        if size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
    return target


def _broadcast_numbers(x: Any, shape: Any) -> torch.Tensor:
    target = _target(shape)
    if not _broadcastable(x.shape, target):
        raise ValueError(_incompatible(x.shape, target))
    require_room(target, dtypes.as_dtype(str(x.dtype).removeprefix("torch.")))
    return x.expand(target).contiguous()


def _broadcast_strings(x: Any, shape: Any) -> Array:
    target = _target(shape)
    if not _broadcastable(x.shape, target):
        raise ValueError(_incompatible(x.shape, target))
    return np.broadcast_to(x, target).copy()


@broadcast_to_op.kernel
def broadcast_to_kernel(node: Node) -> Kernel:
    # Elements are really repeated: a variable may come to keep the result.
    return either(node, _broadcast_numbers, _broadcast_strings)


@broadcast_to_op.gradient
def broadcast_to_gradient(node: Node, grad: Tensor) -> Gradients:
    from stillflow.ops.arrays.shape import reshape, shape

    value, target = node.inputs
    value_shape = shape(value)
    _, axes = broadcast_gradient_args_op(target, value_shape)
    summed = reduce_sum.value(grad, axis=axes, keepdims=True)
    return [reshape(summed, value_shape), None]


@broadcast_to_op.samples
def broadcast_to_samples() -> Samples:
    yield Sample(np.ones((2, 1), np.float32), [3, 2, 2], fixed=(1,))
    yield Sample(np.array(b"a", object), [2], fixed=(1,))
    yield Bad(np.ones((3,), np.float32), [2], match="equal|Incompatible shapes")


@export("broadcast_to")
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeats a tensor along dimensions of size 1, and new leading ones, up to a shape.

    Args:
      input: a tensor.
      shape: the shape of the result, int32 or int64.
      name: of the operation.

    Raises:
      ValueError: if a size other than 1 is known not to match.
    """
    return broadcast_to_op(input, shape, name=name)


# ---- BroadcastArgs, BroadcastGradientArgs

broadcast_args_op = op(
    "BroadcastArgs(s0: T, s1: T) -> r0: T; T: {int32, int64} = int32",
    differentiable=False,
    numbers=("s0", "s1"),
)


def _vectors(node: Node) -> list[tuple[int | None, ...]]:
    return [checked_rank(node, index, 1, f"In[{index}] must be a vector.") for index in (0, 1)]


@broadcast_args_op.shape
def broadcast_args_shape(node: Node) -> OutputDims:
    (x,), (y,) = _vectors(node)
    return (None if x is None or y is None else max(x, y),)


def broadcast_shapes(x: Sequence[int], y: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that two shapes are broadcast to; ValueError in TF's words if none is."""
    pairs = _aligned(x, y)
    if any(a not in (1, b) and b != 1 for a, b in pairs):
        raise ValueError(f"Incompatible shapes: {shape_text(x)} vs. {shape_text(y)}")
    return tuple(b if a == 1 else a for a, b in pairs)


def _aligned(x: Sequence[int], y: Sequence[int]) -> list[tuple[int, int]]:
    """Return the sizes of both shapes in each dimension; 1 where a shape has none."""
    rank = max(len(x), len(y))
    left, right = ([1] * (rank - len(shape)) + list(shape) for shape in (x, y))
    return list(zip(left, right, strict=True))


@broadcast_args_op.value
def broadcast_args_value(node: Node) -> Array | None:
    x, y = node.value(0), node.value(1)
    if x is None or y is None:
        return None
    try:
        return int_array(broadcast_shapes(x.tolist(), y.tolist()), node.T)
    except ValueError:
        return None


@broadcast_args_op.kernel
def broadcast_args_kernel(node: Node) -> Kernel:
    dtype = node.T
    return lambda x, y: index_tensor(broadcast_shapes(ints(x), ints(y)), dtype)


@broadcast_args_op.samples
def broadcast_args_samples() -> Samples:
    yield Sample(np.array([2, 1]), np.array([3]))
    yield Bad(np.array([2]), np.array([3]), match="Incompatible shapes")
    yield Bad(np.array([2]), np.array([[3]]), match="must be rank 1|must be a vector")


broadcast_gradient_args_op = op(
    "BroadcastGradientArgs(s0: T, s1: T) -> (r0: T, r1: T); T: {int32, int64} = int32",
    differentiable=False,
    numbers=("s0", "s1"),
)


@broadcast_gradient_args_op.shape
def broadcast_gradient_args_shape(node: Node) -> OutputDims:
    _vectors(node)
    return [(None,), (None,)]


def reduced_axes(x: Sequence[int], y: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the axes over which the gradient of `f(x, y)` is summed for x, and for y.

    ValueError if the shapes cannot be broadcast.
    """
    if list(x) == list(y):
        return [], []
    broadcast_shapes(x, y)
    pairs = _aligned(x, y)
    return (
        [axis for axis, (a, _) in enumerate(pairs) if a == 1],
        [axis for axis, (_, b) in enumerate(pairs) if b == 1],
    )


@broadcast_gradient_args_op.value
def broadcast_gradient_args_value(node: Node) -> list[Array] | None:
    x, y = node.value(0), node.value(1)
    if x is None or y is None:
        return None
    try:
        both = reduced_axes(x.tolist(), y.tolist())
    except ValueError:
        return None
    return [int_array(axes, node.T) for axes in both]


@broadcast_gradient_args_op.kernel
def broadcast_gradient_args_kernel(node: Node) -> Kernel:
    dtype = node.T

    def axes(x: Any, y: Any) -> Any:
        return [index_tensor(found, dtype) for found in reduced_axes(ints(x), ints(y))]

    return axes


@broadcast_gradient_args_op.samples
def broadcast_gradient_args_samples() -> Samples:
    yield Sample(np.array([2, 1, 3]), np.array([4, 1]))
    yield Bad(np.array([2]), np.array([3]), match="Incompatible shapes")


# ---- Public functions


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Return the shape to which two tensors are broadcast; both shapes are integer vectors."""
    return broadcast_args_op(shape_x, shape_y)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the shape that two tensors of these static shapes are broadcast to, a `TensorShape`.

    Raises:
      ValueError: if they cannot be broadcast.
    """
    x, y = as_shape(shape_x), as_shape(shape_y)
    try:
        return shape_from_dims(dims_lib.broadcast(x._dims, y._dims))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None
