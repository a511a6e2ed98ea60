"""Assigning to slices: StridedSliceAssign, ResourceStridedSliceAssign, TensorStridedSliceUpdate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.errors import unimplemented
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.arrays.strides import Masks, check_vectors, resolve
from stillflow.ops.kernels import copied, flip, ints
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.variables.buffer import Buffer


_ATTRIBUTES = """
    T: type
    Index: {int32, int64}
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
"""
_BOUNDS = "begin: Index, end: Index, strides: Index, value: T"

strided_slice_assign_op = op(
    f"StridedSliceAssign(ref: &T, {_BOUNDS}) -> output_ref: &T" + _ATTRIBUTES,
    writes=(0,),
    numbers=("begin", "end", "strides"),
    handle="variable",
)
resource_strided_slice_assign_op = op(
    f"ResourceStridedSliceAssign(ref: resource, {_BOUNDS})" + _ATTRIBUTES + "flags: stateful",
    writes=(0,),
    numbers=("begin", "end", "strides"),
    handle="variable",
)
tensor_strided_slice_update_op = op(
    f"TensorStridedSliceUpdate(input: T, {_BOUNDS}) -> output: T" + _ATTRIBUTES,
    numbers=("begin", "end", "strides"),
)


def _same_shape(node: Node) -> Any:
    return node.dims(0)


strided_slice_assign_op.shape(_same_shape)
tensor_strided_slice_update_op.shape(_same_shape)


def _setter(node: Node) -> Callable[[Any, Any, Any, Any, Any], None]:
    """Return the function that writes a value into a slice of a tensor."""
    masks = Masks.of(node)
    known = node.values((1, 2, 3))
    bounds = None if known is None else [bound.tolist() for bound in known]

    def assign(target: Any, begin: Any, end: Any, strides: Any, value: Any) -> None:
        check_vectors([begin.shape, end.shape, strides.shape])
        given = bounds or [ints(begin), ints(end), ints(strides)]
        found = resolve(target.shape, *given, masks)  # type: ignore[call-arg]
        if 0 in found.dims:
            return  # nothing is assigned, regardless of the value
        if tuple(value.shape) != found.dims:
            raise unimplemented(
                f"sliced l-value shape {dims_lib.to_string(found.dims)} does not match r-value "
                f"shape {dims_lib.to_string(tuple(value.shape))}. Automatic broadcasting not yet "
                "implemented."
            )
        if isinstance(target, np.ndarray):
            target[found.index] = np.flip(value, found.flips) if found.flips else value
        else:
            target[found.index].copy_(flip(value, found.flips) if found.flips else value)

    return assign


@strided_slice_assign_op.kernel
def strided_slice_assign_kernel(node: Node) -> Kernel:
    assign = _setter(node)

    def assign_to_variable(ref: Any, begin: Any, end: Any, strides: Any, value: Any) -> Buffer:
        assign(ref.read(), begin, end, strides, value)
        return ref

    return assign_to_variable


@resource_strided_slice_assign_op.kernel
def resource_strided_slice_assign_kernel(node: Node) -> Kernel:
    assign = _setter(node)

    def assign_to_variable(ref: Any, begin: Any, end: Any, strides: Any, value: Any) -> None:
        with ref.lock:
            assign(ref.read(), begin, end, strides, value)

    return assign_to_variable


@tensor_strided_slice_update_op.kernel
def tensor_strided_slice_update_kernel(node: Node) -> Kernel:
    assign = _setter(node)

    def update(tensor: Any, begin: Any, end: Any, strides: Any, value: Any) -> torch.Tensor | Array:
        result = copied(tensor)
        assign(result, begin, end, strides, value)
        return result

    return update


@tensor_strided_slice_update_op.samples
def tensor_strided_slice_update_samples() -> Samples:
    x = np.zeros((3, 4), np.float32)
    yield Sample(
        x, [0, 3], [2, 0], [1, -2], np.ones((2, 2), np.float32), fixed=(1, 2, 3), grad=False
    )
    none = np.array([], np.int32)
    yield Sample(x, none, none, none, x + 1, ellipsis_mask=1, fixed=(1, 2, 3), grad=False)
    yield Bad(x, [0], [2, 0], [1, -2], x, match=r"got shapes \[1\], \[2\], and \[2\] instead")
    yield Bad(x, [[0]], [[2]], [[1]], x, match="1D equal size tensors")
