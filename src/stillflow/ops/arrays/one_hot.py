"""`tf.one_hot`."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import is_object, type_of
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

one_hot_op = op(
    """
    OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> output: T
    axis: int = -1
    T: type
    TI: {uint8, int32, int64} = int64
""",
    differentiable=False,
    numbers=("depth",),
)


@one_hot_op.shape
def one_hot_shape(node: Node) -> OutputDims:
    axis = node.axis
    if axis < -1:
        raise ValueError("axis must be >= -1")
    dims = node.dims(0)
    depth = _known_depth(node)
    if dims is None:
        return None
    rank = len(dims) + 1
    for index, name in ((2, "on_value"), (3, "off_value")):
        if node.planning:
            checked_rank(node, index, 0, f"{name} must be a scalar, but got: ")
    if node.planning and axis >= rank:
        raise ValueError(f"Expected axis to be -1 or between [0, {rank}).  But received: {axis}")
    position = (axis + rank) % rank
    return (*dims[:position], depth, *dims[position:])


def _known_depth(node: Node) -> int | None:
    value = node.value(1)
    if value is None:
        return None
    if value.ndim:
        if node.planning:
            raise ValueError(f"depth must be a scalar, but got: [{value.size}]")
        raise ValueError(f"Input must be scalar but has rank {value.ndim}")
    if value < 0 and node.planning:
        raise ValueError(f"depth must be non-negative, got: {value}")
    return dims_lib.make_dim(int(value), 1)


def _mark(
    indices: Any, depth: int, axis: int, on_value: Any, off_value: Any
) -> torch.Tensor | Array:
    """Fill with `off_value` and put `on_value` at the indices.

    Others than [0, depth) count nowhere.
    """
    require_room((*indices.shape, depth), type_of(on_value))
    position = indices.ndim if axis == -1 else axis
    where = indices.long().unsqueeze(position)
    classes = torch.arange(depth, device=indices.device)
    classes = classes.reshape(-1, *[1] * (indices.ndim - position))
    if isinstance(on_value, np.ndarray):
        return np.where((where == classes).numpy(), on_value, off_value)
    hits = where == classes
    if hits.dtype == on_value.dtype:
        return torch.where(hits, on_value, off_value)
    return torch.where(hits, on_value, off_value).to(on_value.dtype)


@one_hot_op.kernel
def one_hot_kernel(node: Node) -> Kernel:
    axis, depth = node.axis, node.value(1)
    on_value, off_value = node.value(2), node.value(3)
    indices = node.inputs[0]
    if depth is not None and on_value is not None and off_value is not None:
        plain = not is_object(node, 2) and on_value == 1 and off_value == 0
        if plain and node.T.name in ("float32", "float64", "int32", "int64", "bool"):
            return node.call(_mark_ones, indices, int(depth), axis, getattr(torch, node.T.name))

    def mark(indices: Any, depth: Any, on_value: Any, off_value: Any) -> torch.Tensor | Array:
        if depth.ndim:
            given = dims_lib.to_string(tuple(depth.shape))
            raise ValueError(f"depth must be a scalar, but got: {given}")
        count = int(depth)
        if count < 0:
            raise ValueError(f"depth must be non-negative, got: {count}")
        unsigned = {torch.uint16, torch.uint32, torch.uint64}
        if not isinstance(on_value, np.ndarray) and on_value.dtype in unsigned:
            seen = {torch.uint16: torch.int16, torch.uint32: torch.int32}.get(
                on_value.dtype, torch.int64
            )
            marked = _mark(indices, count, axis, on_value.view(seen), off_value.view(seen))
            return marked.view(on_value.dtype)
        return _mark(indices, count, axis, on_value, off_value)

    return mark


def _mark_ones(indices: Any, depth: int, axis: int, dtype: Any) -> torch.Tensor:
    """Return the usual case: ones among zeros."""
    require_room((*indices.shape, depth), dtypes.as_dtype(str(dtype).removeprefix("torch.")))
    position = indices.ndim if axis == -1 else axis
    classes = torch.arange(depth, dtype=indices.dtype, device=indices.device)
    if position == indices.ndim:
        return (indices.unsqueeze(-1) == classes).to(dtype)
    classes = classes.reshape(-1, *[1] * (indices.ndim - position))
    return (indices.unsqueeze(position) == classes).to(dtype)


@one_hot_op.samples
def one_hot_samples() -> Samples:
    indices = np.array([[0, 2], [-1, 1]], np.int32)
    yield Sample(indices, np.int32(3), np.float32(1), np.float32(0), fixed=(1,))
    yield Sample(indices, np.int32(3), np.int64(5), np.int64(-1), axis=1, fixed=(1,))
    yield Sample(
        np.array([1]), np.int32(2), np.array(b"on", object), np.array(b"off", object), fixed=(1,)
    )
    yield Bad(indices, np.int32(-1), np.float32(1), np.float32(0), match="non-negative")


@export("one_hot")
@dispatchable
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return for each index a vector that is `on_value` there and `off_value` elsewhere.

    Args:
      indices: uint8, int32 or int64; one outside `[0, depth)` gives `off_value` throughout.
      depth: the length of the vectors, a scalar.
      on_value, off_value: scalars, by default 1 and 0.
      axis: where the new dimension stands, by default last.
      dtype: of the result; by default that of the values, float32 if none is given.
      name: of the operation.

    Raises:
      TypeError: if the values' types differ from each other or from `dtype`.

    Example:
      >>> print(tf.Session().run(tf.one_hot([0, 2], depth=3)))
      [[1. 0. 0.]
       [0. 0. 1.]]
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        on_type = None if on_value is None else convert_to_tensor(on_value).dtype.base_dtype
        off_type = None if off_value is None else convert_to_tensor(off_value).dtype.base_dtype
        if dtype is not None:
            dtype = dtypes.as_dtype(dtype)
            for what, given in (("on_value", on_type), ("off_value", off_type)):
                if given is not None and given != dtype:
                    raise TypeError(
                        f"dtype {given} of {what} does not match dtype parameter {dtype}"
                    )
        else:
            dtype = on_type or off_type or dtypes.float32
        if on_value is None:
            on_value, on_type = convert_to_tensor(1, dtype, name="on_value"), dtype
        if off_value is None:
            off_value, off_type = convert_to_tensor(0, dtype, name="off_value"), dtype
        if on_type != off_type:
            raise TypeError(
                f"dtype {on_type} of on_value does not match dtype {off_type} of off_value"
            )
        return one_hot_op(indices, depth, on_value, off_value, axis=axis, name=scope)
