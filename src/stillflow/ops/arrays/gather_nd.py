"""Taking elements or slices by tuples of indices: GatherNd, ResourceGatherNd."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.rows import flat_rows
from stillflow.ops.arrays.sequences import range_op
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, squeeze
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.arrays.stack import stack
from stillflow.ops.debugging.handle_types import check_built_type
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import moving
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels

gather_nd_op = op("""
    GatherNd(params: Tparams, indices: Tindices) -> output: Tparams
    Tparams: type
    Tindices: {int32, int64}
""")
resource_gather_nd_op = op(
    """
    ResourceGatherNd(resource: resource, indices: Tindices) -> output: dtype
    dtype: type
    Tindices: {int32, int64}
    flags: stateful
""",
    handle="variable",
    access="gather",
    idempotent=True,
)


def _gathered_dims(dims: Any, indices: Any, planning: bool) -> tuple[int | None, ...] | None:
    if planning and dims == ():
        raise ValueError("params must be at least a vector")
    dims_lib.with_rank_at_least(indices, 1)
    depth = dims_lib.dim(indices, -1)
    if dims is None or depth is None:
        return None
    if depth > len(dims):
        if planning:
            raise ValueError(_too_deep(depth, len(dims)))
        raise ValueError(
            "indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{dims_lib.to_string(indices)} and params shape: {dims_lib.to_string(dims)}"
        )
    return indices[:-1] + dims[depth:]


def _too_deep(depth: int, limit: int) -> str:
    return f"index innermost dimension length must be <= params rank; saw: {depth} vs. {limit}"


@gather_nd_op.shape
def gather_nd_shape(node: Node) -> OutputDims:
    return _gathered_dims(node.dims(0), node.dims(1), node.planning)


@resource_gather_nd_op.shape
def resource_gather_nd_shape(node: Node) -> OutputDims:
    check_built_type(node)
    return _gathered_dims(node.variable_dims(0), node.dims(1), node.planning)


def take_tuples(params: Any, indices: Any) -> torch.Tensor | Array:
    """Return slices at index tuples, the last dimension; InvalidArgumentError if out of range."""
    if indices.ndim < 1:
        raise ValueError("indices must be at least a vector")
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise ValueError(_too_deep(depth, params.ndim))
    sizes, inner, outer = params.shape[:depth], params.shape[depth:], indices.shape[:-1]
    if prod(outer) and not prod(params.shape):
        raise invalid_argument(
            "Requested more than 0 entries, but params is empty.  Params shape: "
            f"{shape_text(params.shape)}"
        )
    if isinstance(params, np.ndarray):
        found = _take_strings(params, indices) if depth and outer else None
    else:
        found = native_kernels.take_tuples(params, indices)
    if found is not None:
        return found
    message = f"does not index into param shape {shape_text(params.shape)}"
    rows = flat_rows(indices, tuple(sizes), message)
    table = params.reshape(prod(sizes), prod(inner))
    if isinstance(params, np.ndarray):
        taken = table[rows.numpy()]
    else:
        taken = table.index_select(0, rows)
    return taken.reshape((*outer, *inner))


def _take_strings(params: np.ndarray, indices: Any) -> np.ndarray | None:
    """Return `take_tuples` with NumPy's check of indices; None if one is out of range."""
    depth = indices.shape[-1]
    numbers = indices.numpy(force=True)
    try:
        rows = np.ravel_multi_index(tuple(np.moveaxis(numbers, -1, 0)), params.shape[:depth])
    except ValueError:
        return None
    return params.reshape(-1, *params.shape[depth:]).take(rows, axis=0)


@gather_nd_op.kernel
def gather_nd_kernel(node: Node) -> Kernel:
    return node.call(moving(node.Tparams, take_tuples), *node.inputs)


@resource_gather_nd_op.kernel
def resource_gather_nd_kernel(node: Node) -> Kernel:
    function = moving(node.op.attrs["dtype"], take_tuples)
    return lambda handle, indices: function(handle.read(), indices)


def _gradient(grad: Any, indices: Tensor, params_shape: Tensor) -> Tensor | IndexedSlices:
    from stillflow.ops.arrays.scatter import scatter_nd

    dims = indices._dims
    if dims is not None and len(dims) == 2 and dims[-1] == 1:
        return IndexedSlices(grad, squeeze(indices, axis=-1), params_shape)
    return scatter_nd(indices, grad, params_shape)


@gather_nd_op.gradient
def gather_nd_gradient(node: Node, grad: Any) -> Gradients:
    params, indices = node.inputs
    return [_gradient(grad, indices, shape(params, out_type=indices.dtype)), None]


@resource_gather_nd_op.gradient
def resource_gather_nd_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.variables.resource import variable_shape_op

    handle, indices = node.inputs
    sizes = variable_shape_op(handle, out_type=indices.dtype)
    return [_gradient(grad, indices, sizes), None]


@gather_nd_op.samples
def gather_nd_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    yield Sample(x, np.array([[1, 2], [0, 0]], np.int32))
    yield Sample(x, np.array([[[1], [0]]]))
    yield Sample(x, np.array([1, 0, 1]), grad=False)  # as in TF, which cannot scatter a scalar
    yield Sample(np.array([b"a", b"b"], object), np.array([[1]]))
    yield Bad(x, np.array([[1, 3]]), match=r"indices\[0\] = \[1, 3\] does not index into")
    yield Bad(x, np.zeros((1, 4), np.int32), match="must be <= params")


@export("gather_nd", "manip.gather_nd")
@dispatchable
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0) -> Tensor:
    """Elements or slices of `params` at tuples of indices.

    Args:
      params: a tensor or variable.
      indices: int32 or int64; the last dimension holds the tuples.
      name: of the operation.
      batch_dims: how many leading dimensions of both belong together.

    Returns:
      Shape `indices.shape[:-1] + params.shape[indices.shape[-1]:]` without batch dimensions.

    Example:
      >>> print(tf.Session().run(tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])))
      [2 3]
    """
    known = static_value(batch_dims)
    if known is not None:
        batch_dims = int(np.asarray(known).item())
    if batch_dims != 0:
        return batch_gather_nd(params, indices, batch_dims=batch_dims, name=name)
    try:
        return params.gather_nd(indices, name=name)
    except AttributeError:
        return gather_nd_op(params, indices, name=name)


def batch_gather_nd(params: Any, indices: Any, batch_dims: Any, name: str | None = None) -> Tensor:
    """`gather_nd` within each element of a batch."""
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if not isinstance(batch_dims, int):
            raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        for what, dims in (("indices", indices._dims), ("params", params._dims)):
            if dims is not None and batch_dims >= len(dims):
                raise ValueError(
                    f"batch_dims = {batch_dims} must be less than rank({what}) = {len(dims)}"
                )
        if batch_dims:
            return _in_batches(params, indices, batch_dims)
        params, indices = expand_dims(params, axis=0), expand_dims(indices, axis=0)
        return squeeze(_in_batches(params, indices, 1), axis=0)


def _in_batches(params: Any, indices: Any, batch_dims: int) -> Tensor:
    """Put the batch's coordinates before the indices, and gathers from the whole."""
    from stillflow.ops.arrays.tile import tile
    from stillflow.ops.arrays.transpose import transpose
    from stillflow.ops.math.reductions import prod_op

    params_shape, indices_shape = shape(params), shape(indices)
    batch_shape = slice_helper(params_shape, slice(None, batch_dims))
    batch_size = prod_op(batch_shape, [0])
    inner_rank = rank(indices) - batch_dims - 1
    inner_shape = slice_helper(indices_shape, slice(batch_dims, -1))
    grid = transpose(stack(_coordinates(batch_shape, indices.dtype), axis=0))
    grid_shape = shape(grid)
    grid = reshape(grid, concat([
        slice_helper(grid_shape, slice(None, 1)), ones(inner_rank, dtype=dtypes.int32),
        slice_helper(grid_shape, slice(1, None)),
    ], axis=0))  # fmt: skip
    grid = tile(grid, multiples=concat(((1,), inner_shape, (1,)), axis=0))
    tail = slice_helper(indices_shape, slice(batch_dims, None))
    flat = reshape(indices, shape=concat(([batch_size], tail), axis=0))
    out = gather_nd_op(params, concat((grid, flat), axis=-1))
    out_tail = slice_helper(shape(out), slice(1, None))
    return reshape(out, shape=concat((batch_shape, out_tail), axis=0))


def _coordinates(batch_shape: Tensor, dtype: Any) -> list[Tensor]:
    from stillflow.ops.arrays.meshgrid import meshgrid
    from stillflow.ops.math.cast import cast_op

    ranges = [cast_op(range_op(0, count, 1), DstT=dtype) for count in unstack(batch_shape, axis=0)]
    grids = meshgrid(*ranges, indexing="ij") if ranges else []
    return [reshape(grid, shape=(-1,)) for grid in grids]
