"""Taking slices by index along one dimension: GatherV2, Gather, ResourceGather."""

from __future__ import annotations

import builtins
import contextlib
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import InvalidArgumentError, invalid_argument
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.sequences import range, range_op
from stillflow.ops.arrays.shape import expand_dims, reshape, shape, size
from stillflow.ops.arrays.stack import stack
from stillflow.ops.debugging.handle_types import check_built_type
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import prod_op
from stillflow.ops.kernels import is_handle, moving
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels

# ---- Cards

gather_op = op("""
    Gather(params: Tparams, indices: Tindices) -> output: Tparams
    validate_indices: bool = true
    Tparams: type
    Tindices: {int32, int64}
""")
gather_v2_op = op(
    """
    GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> output: Tparams
    batch_dims: int = 0
    Tparams: type
    Tindices: {int32, int64}
    Taxis: {int32, int64}
""",
    numbers=("axis",),
)
resource_gather_op = op(
    """
    ResourceGather(resource: resource, indices: Tindices) -> output: dtype
    batch_dims: int = 0
    validate_indices: bool = true
    dtype: type
    Tindices: {int32, int64}
    flags: stateful
""",
    handle="variable",
    access="gather",
    idempotent=True,
)


@gather_op.shape
def gather_shape(node: Node) -> OutputDims:
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    return dims_lib.concat(node.dims(1), dims_lib.subshape(dims, 1))


@gather_v2_op.shape
def gather_v2_shape(node: Node) -> OutputDims:
    if node.planning and node.dims(0) == ():
        raise ValueError("params must be at least 1 dimensional")
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    indices = node.dims(1)
    dims_lib.with_rank(node.dims(2), 0)
    value = node.value(2)
    if value is None:
        if dims is None or indices is None:
            return None
        return dims_lib.unknown(len(dims) + len(indices) - 1)
    axis, batch_dims = int(value), node.batch_dims
    if node.planning and dims is not None and indices is not None:
        _check_axes(len(dims), len(indices), axis, batch_dims)
    dims_lib.with_rank_at_least(dims, -axis if axis < 0 else axis + 1)
    dims_lib.with_rank_at_least(dims, -batch_dims if batch_dims < 0 else batch_dims + 1)
    outer = dims_lib.subshape(dims, 0, axis)
    result = dims_lib.concat(outer, dims_lib.subshape(indices, batch_dims))
    return result if axis == -1 else dims_lib.concat(result, dims_lib.subshape(dims, axis + 1))


def _check_axes(dims_rank: int, indices_rank: int, axis: int, batch_dims: int) -> tuple[int, int]:
    """Axis and number of batch dimensions, not negative; checked as TF's kernel does."""
    if not -dims_rank <= axis < dims_rank:
        raise ValueError(f"Expected axis in the range [{-dims_rank}, {dims_rank}), but got {axis}")
    axis %= dims_rank
    if batch_dims:
        if not -indices_rank <= batch_dims < indices_rank:
            raise ValueError(
                f"Expected batch_dims in the range [{-indices_rank}, {indices_rank}), but got "
                f"{batch_dims}"
            )
        batch_dims %= indices_rank
        if batch_dims >= dims_rank:
            raise ValueError(
                f"batch_dims ({batch_dims}) must be less than rank(params) ({dims_rank})."
            )
        if axis < batch_dims:
            raise ValueError(
                f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis})."
            )
    return axis, batch_dims


@resource_gather_op.shape
def resource_gather_shape(node: Node) -> OutputDims:
    check_built_type(node)
    dims, indices, batch_dims = node.variable_dims(0), node.dims(1), node.batch_dims
    if batch_dims < 0:
        raise ValueError(f"batch_dims is negative ({batch_dims})")
    dims_lib.with_rank_at_least(dims, batch_dims + 1)
    dims_lib.with_rank_at_least(indices, batch_dims)
    outer = dims_lib.subshape(dims, 0, batch_dims)
    result = dims_lib.concat(outer, dims_lib.subshape(indices, batch_dims))
    return dims_lib.concat(result, dims_lib.subshape(dims, batch_dims + 1))


@gather_v2_op.value
def gather_v2_value(node: Node) -> Array | None:
    params, indices, axis = node.value(0), node.value(1), node.value(2)
    if params is None or indices is None or axis is None or node.batch_dims:
        return None
    if indices.size and not 0 <= indices.min() <= indices.max() < params.shape[int(axis)]:
        return None
    positive = int(axis) % params.ndim
    return params[(slice(None),) * positive + (indices, Ellipsis)]


# ---- Kernels


def out_of_range(indices: Any, limit: int, where: str = "indices") -> InvalidArgumentError:
    """TF's error for the first index outside [0, limit)."""
    array = indices.cpu().numpy()
    bad = int(np.flatnonzero((array < 0) | (array >= limit))[0])
    position = np.unravel_index(bad, array.shape)
    listed = ",".join(str(int(number)) for number in position)
    place = f"{where}[{listed}]" if listed else where
    return invalid_argument(f"{place} = {array.flat[bad]} is not in [0, {limit})")


_FEW = 1 << 15  # of more, several threads find the extremes faster


def in_range(indices: Any, limit: int) -> bool:
    """Return True if all indices are in [0, limit); reads them back from the device."""
    if indices.numel() <= _FEW:
        found = native_kernels.are_within(indices, 0, limit - 1)
        if found is not None:
            return found
    if not indices.numel():
        return True
    low, high = torch.aminmax(indices)
    return bool(low >= 0) and bool(high < limit)


def _take_safely(params: Any, indices: Any, axis: int) -> torch.Tensor:
    """On a GPU an index that does not exist gives zeros, as it does in TF; nothing waits."""
    limit = params.shape[axis]
    flat = indices.reshape(-1)
    if not limit:
        taken = params.new_zeros((*params.shape[:axis], flat.shape[0], *params.shape[axis + 1 :]))
    else:
        valid = (flat >= 0) & (flat < limit)
        taken = params.index_select(axis, flat.clamp(0, limit - 1))
        where = [1] * taken.ndim
        where[axis] = -1
        taken = taken.masked_fill_(~valid.view(where), 0)
    return taken.view((*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]))


def take(params: Any, indices: Any, axis: int) -> torch.Tensor:
    """Return slices of a torch tensor along an axis; InvalidArgumentError if out of range."""
    if not params.is_cpu:
        return _take_safely(params, indices, axis)
    try:
        if indices.ndim < 2:
            taken = params.index_select(axis, indices)
            return taken if indices.ndim else taken.squeeze(axis)
        taken = params.index_select(axis, indices.reshape(-1))
    except (IndexError, RuntimeError):
        if in_range(indices, params.shape[axis]):
            raise
        raise out_of_range(indices, params.shape[axis]) from None
    return taken.view((*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]))


def take_strings(params: Any, indices: Any, axis: int) -> Array:
    """Slices of an object array at `indices` along an axis."""
    if not in_range(indices, params.shape[axis]):
        raise out_of_range(indices, params.shape[axis])
    return params[(slice(None),) * axis + (indices.numpy(), Ellipsis)]


def take_in_batches(params: Any, indices: Any, axis: int, batch_dims: int) -> torch.Tensor:
    """`take` where the first `batch_dims` dimensions of both belong together."""
    limit, strings = params.shape[axis], isinstance(params, np.ndarray)
    if not in_range(indices, limit):
        raise out_of_range(indices, limit)
    batch, outer = params.shape[:batch_dims], params.shape[batch_dims:axis]
    inner, kept = params.shape[axis + 1 :], indices.shape[batch_dims:]
    count = prod(batch)
    rows = params.reshape(count, prod(outer), limit, prod(inner)).swapaxes(1, 2)
    chosen = indices.reshape(count, prod(kept))
    numbers = torch.arange(count, device=chosen.device)[:, None]
    if strings:
        chosen, numbers = chosen.numpy(), numbers.numpy()
    taken = rows[numbers, chosen].swapaxes(1, 2)
    return taken.reshape((*batch, *outer, *kept, *inner))


def _take_handles(params: Any, indices: Any, axis: int) -> Any:
    """Return handles from an array of them; a single one is itself."""
    taken = take_strings(params, indices, axis)
    return taken if taken.ndim else taken.item()


def _gather_kernel(dtype: DType) -> Callable[..., Any]:
    if is_handle(dtype):
        return _take_handles
    return take_strings if dtype == dtypes.string else moving(dtype, take)


@gather_op.kernel
def gather_kernel(node: Node) -> Kernel:
    return node.call(_gather_kernel(node.Tparams), *node.inputs, 0)


@gather_v2_op.kernel
def gather_v2_kernel(node: Node) -> Kernel:
    value, batch_dims = node.value(2), node.batch_dims
    params, indices = node.inputs[0], node.inputs[1]
    params_rank, indices_rank = dims_lib.rank(node.dims(0)), dims_lib.rank(node.dims(1))
    one = _gather_kernel(node.Tparams)
    if value is not None and params_rank is not None and indices_rank is not None:
        axis, batch_dims = _check_axes(params_rank, indices_rank, int(value), batch_dims)
        if batch_dims:
            batched = moving(node.Tparams, take_in_batches)
            return node.call(batched, params, indices, axis, batch_dims)
        return node.call(one, params, indices, axis)

    def take_at_run_time(params: Any, indices: Any, axis: Any) -> torch.Tensor | Array:
        chosen, batch = _check_axes(params.ndim, indices.ndim, int(axis), batch_dims)
        if batch:
            return moving(node.Tparams, take_in_batches)(params, indices, chosen, batch)
        return one(params, indices, chosen)

    return take_at_run_time


@resource_gather_op.kernel
def resource_gather_kernel(node: Node) -> Kernel:
    batch_dims = node.batch_dims
    dtype = node.op.attrs["dtype"]
    if not batch_dims:
        one = _gather_kernel(dtype)
        return lambda handle, indices: one(handle.read(), indices, 0)
    batched = moving(dtype, take_in_batches)
    return lambda handle, indices: batched(handle.read(), indices, batch_dims, batch_dims)


# ---- Gradients


def _rows_gradient(grad: Any, indices: Tensor, params_shape: Tensor) -> IndexedSlices:
    """Return the gradient of taking rows: the rows that come back, and where they belong."""
    count = expand_dims(size(indices), 0)
    values = reshape_quietly(grad, concat([count, slice_helper(params_shape, slice(1, None))], 0))
    return IndexedSlices(values, reshape(indices, count), params_shape)


def reshape_quietly(tensor: Any, to: Any) -> Tensor:
    """Return a gradient in another shape, without a warning where `IndexedSlices` become dense."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Converting sparse IndexedSlices to a dense Tensor.*"
        )
        return reshape(tensor, to)


def _shape_in_place(params: Tensor) -> Tensor:
    """Return the shape of a table, made where the table is.

    It may exceed 32 bits until it is cast.
    """
    from stillflow.ops.math.cast import cast

    with get_default_graph().colocate_with(params):
        return cast(shape(params, out_type=dtypes.int64), dtypes.int32)


@gather_op.gradient
def gather_gradient(node: Node, grad: Any) -> Gradients:
    params, indices = node.inputs
    return [_rows_gradient(grad, indices, _shape_in_place(params)), None]


@resource_gather_op.gradient
def resource_gather_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.variables.resource import variable_shape

    handle, indices = node.inputs
    return [_rows_gradient(grad, indices, variable_shape(handle)), None]


@gather_v2_op.gradient
def gather_v2_gradient(node: Node, grad: Any) -> Gradients:
    params, indices, axis = node.inputs
    params_shape = _shape_in_place(params)
    count = expand_dims(size(indices), 0)
    batch_dims = node.batch_dims
    if batch_dims < 0:
        batch_dims += len(indices._dims or ())
    static = static_value(axis)
    if static is not None and static == 0:
        tail = slice_helper(params_shape, slice(1, None))
        values = reshape_quietly(grad, concat([count, tail], 0))
        result: Any = IndexedSlices(values, reshape(indices, count), params_shape)
    else:
        result = _along_axis(grad, indices, axis, params_shape, batch_dims)
    return [result, None, None]


def _along_axis(
    grad: Any, indices: Tensor, axis: Tensor, params_shape: Tensor, batch_dims: int
) -> Tensor:
    """Return the axis is moved to the front, rows are added up there, and it is moved back."""
    from stillflow.ops.arrays.transpose import transpose

    outer = slice_helper(params_shape, slice(None, axis))
    inner = slice_helper(slice_helper(params_shape, slice(axis, None)), slice(1, None))
    values_shape = concat([outer, [-1], inner], 0)
    values_dims, axis_dims = size(values_shape), size(outer)
    batches = range(batch_dims)
    between: Any = range(batch_dims, axis_dims)
    after = range(axis_dims + 1, values_dims)
    values = reshape_quietly(grad, values_shape)
    moved = transpose(values, concat([batches, [axis_dims], between, after], 0))
    limit = slice_helper(params_shape, axis)
    summed = _sum_rows(params_shape, moved, indices, batch_dims, limit)
    return transpose(summed, concat([batches, between + 1, [batch_dims], after], 0))


def _sum_rows(
    params_shape: Tensor, values: Tensor, indices: Tensor, batch_dims: int, limit: Any
) -> Tensor:
    from stillflow.ops.math.cast import cast
    from stillflow.ops.math.segment import unsorted_segment_sum

    count = expand_dims(size(indices), 0)
    if batch_dims:
        values_shape = shape(values)
        outer = slice_helper(values_shape, slice(None, batch_dims))
        inner = slice_helper(slice_helper(values_shape, slice(batch_dims, None)), slice(1, None))
        batch_size = prod_op.value(outer, [0], keep_dims=False)
        flat_shape = concat([[-1], inner], 0)
        limit = limit * batch_size
        dtype = indices.dtype.base_dtype
        sizes = cast(params_shape, dtype)
        indices = _with_offsets(indices, batch_dims, sizes, ones((), dtype=dtype), range)
        values = reshape_quietly(values, flat_shape)
    indices = reshape(indices, count)
    result = unsorted_segment_sum(values, indices, limit)
    if batch_dims:
        result = reshape(result, concat([outer, flat_shape], 0))
    return result


def _with_offsets(
    indices: Any, batch_dims: int, sizes: Tensor, step: Any, make_range: Callable[..., Any]
) -> Tensor:
    """Convert indices to a table of shape `sizes` with its batch dimensions flattened."""
    result, dtype = indices, indices.dtype.base_dtype
    for dim in builtins.range(batch_dims, 0, -1):
        extent = slice_helper(sizes, dim - 1)
        step = step * slice_helper(sizes, dim)
        start, one = zeros((), dtype=dtype), ones((), dtype=dtype)
        offsets = make_range(start, extent, one) * step
        column = stack([1] * (dim - 1) + [extent] + [1] * (len(indices._dims) - dim), axis=0)
        result = result + reshape(offsets, column)
    return result


# ---- Samples and public functions


@gather_op.samples
def gather_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    yield Sample(x, np.array([[3, 0], [1, 1]], np.int32))
    yield Bad(x, np.array([1, 4]), match=r"indices\[1\] = 4 is not in \[0, 4\)")


@gather_v2_op.samples
def gather_v2_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(x, np.array([[1, 0]], np.int32), 0, fixed=(2,))
    yield Sample(x, np.array([3, 3, 0]), -1, fixed=(2,))
    yield Sample(x, np.array([[0, 2], [1, 1]]), 1, batch_dims=1, fixed=(2,))
    # TF's gradient is wrong where the axis does not follow the batch; ours is built alike.
    yield Sample(x, np.array([[0, 2], [1, 1]]), 2, batch_dims=1, fixed=(2,), grad=False)
    yield Sample(np.array([b"a", b"b"], object), np.array(1), 0, fixed=(2,))
    yield Bad(x, np.array([-1]), 1, match=r"indices\[0\] = -1 is not in \[0, 3\)")
    yield Bad(x, np.array([0]), 3, match="at least rank 4|Expected axis")


@export("gather")
@dispatchable
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Slices of `params` at `indices` along an axis.

    Args:
      params: a tensor or variable of rank 1 or more.
      indices: int32 or int64, of any shape; each in `[0, params.shape[axis])`.
      validate_indices: ignored.
      name: of the operation.
      axis: by default `batch_dims`.
      batch_dims: how many leading dimensions of both belong together.

    Returns:
      Shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]`.

    Example:
      >>> table = tf.constant([[1, 2], [3, 4], [5, 6]])
      >>> print(tf.Session().run(tf.gather(table, [2, 0])))
      [[5 6]
       [1 2]]
      >>> print(tf.Session().run(tf.gather(table, [1], axis=1)).tolist())
      [[2], [4], [6]]
    """
    del validate_indices
    axis = batch_dims if axis is None else axis
    known = static_value(axis)
    if known is not None and known == 0:
        with contextlib.suppress(AttributeError):  # of tensors, and variables that are read whole
            return params.sparse_read(indices, name=name)
        batch_dims = 0
    return gather_v2_op(params, indices, axis, batch_dims=batch_dims, name=name)


@export("batch_gather")
@dispatchable
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Slices of `params` at `indices`, whose dimensions but the last belong to those of `params`.

    Args:
      params: a tensor.
      indices: int32 or int64, of known rank.
      name: of the operation.

    Raises:
      ValueError: if the rank of `indices` is not known or too large.
    """
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices._dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return _batch_gather(params, indices, len(indices._dims) - 1)


def _batch_gather(params: Any, indices: Any, batch_dims: int) -> Tensor:
    from stillflow.ops.math.cast import cast_op

    indices_rank, dims = len(indices._dims), params._dims
    for what, limit in (("indices", indices_rank), ("params", dims_lib.rank(dims))):
        if limit is not None and not 0 <= batch_dims < limit:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank({what}) = {limit}")
    indices_shape, params_shape = shape(indices), shape(params)
    step = ones((), dtype=indices.dtype.base_dtype)
    sizes = cast_op(params_shape, DstT=indices.dtype.base_dtype)
    moved = _with_offsets(indices, batch_dims, sizes, step, range_op)
    flat_indices = reshape(moved, [-1])
    outer_shape = slice_helper(params_shape, slice(batch_dims + 1, None))
    rows = prod_op.value(
        slice_helper(params_shape, slice(None, batch_dims + 1)), [0], keep_dims=False
    )
    flat_params = reshape(params, concat([[rows], outer_shape], axis=0))
    taken = gather(flat_params, flat_indices)
    result = reshape(taken, concat([indices_shape, outer_shape], axis=0))
    final = indices.get_shape()[:batch_dims].merge_with(params.get_shape()[:batch_dims])
    final = final.concatenate(indices.get_shape()[batch_dims:])
    result.set_shape(final.concatenate(params.get_shape()[batch_dims + 1 :]))
    return result
