"""Repeating tensors: Tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import reduce_sum
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import either, ints
from stillflow.ops.samples import Bad, Sample, Samples

tile_op = op(
    """
    Tile(input: T, multiples: Tmultiples) -> output: T
    T: type
    Tmultiples: {int32, int64} = int32
""",
    numbers=("multiples",),
    batching="vmap",
)


@tile_op.shape
def tile_shape(node: Node) -> OutputDims:
    if node.planning:
        checked_rank(node, 1, 1, "Expected multiples to be 1-D, but got shape ")
    dims, multiples = node.dims(0), node.shape_value(1)
    value = node.value(1)
    if node.planning and value is not None and dims_lib.is_known(dims):
        return tiled_dims(dims, value.tolist())
    dims_lib.with_rank(node.dims(1), 1)
    if dims is not None:
        multiples = dims_lib.with_rank(multiples, len(dims))
    if multiples is None:
        return None
    dims = dims_lib.with_rank(dims, len(multiples))
    return tuple([dims_lib.multiply(a, b) for a, b in zip(dims, multiples, strict=True)])


def tiled_dims(dims: Sequence[int], multiples: Any) -> tuple[int, ...]:
    """Return the shape after tiling, checked with the message of TF's kernel."""
    if not isinstance(multiples, list) or len(multiples) != len(dims):
        count = len(multiples) if isinstance(multiples, list) else 1
        raise ValueError(
            f"Expected multiples argument to be a vector of length {len(dims)} but got length "
            f"{count}"
        )
    for axis, multiple in enumerate(multiples):
        if multiple < 0:
            raise ValueError(f"Expected multiples[{axis}] >= 0, but got {multiple}")
    return tuple(dim * multiple for dim, multiple in zip(dims, multiples, strict=True))


@tile_op.value
def tile_value(node: Node) -> Array | None:
    value, multiples = node.value(0), node.value(1)
    if value is None or multiples is None or multiples.shape != (value.ndim,):
        return None
    if (multiples < 0).any() or multiples.astype(np.float64).prod() * value.size > 4096:
        return None
    return np.tile(value, multiples.tolist())


@tile_op.kernel
def tile_kernel(node: Node) -> Kernel:
    repeat = either(node, torch.tile, np.tile)
    multiples = node.value(1)
    if multiples is not None and dims_lib.is_known(node.dims(0)):
        if (multiples == 1).all():
            return node.same(0)
        dims: Any = node.dims(0)
        times = tuple(multiples.tolist())
        if repeat is torch.tile and _only_ones(dims, times):
            # Gradients of sums spread this way; copying an expanded view is faster.
            sizes = tuple(size * count for size, count in zip(dims, times, strict=True))
            return node.call(spread, node.inputs[0], sizes)
        return node.call(repeat, node.inputs[0], times)

    def tile_at_run_time(x: Any, multiples: Any) -> torch.Tensor | Array:
        wanted = ints(multiples)
        dims = tiled_dims(x.shape, wanted)
        if repeat is torch.tile and _only_ones(x.shape, wanted):
            return spread(x, dims)
        return repeat(x, tuple(wanted))

    return tile_at_run_time


def _only_ones(dims: Any, times: Sequence[int]) -> bool:
    """Return True if only dimensions of size 1 are repeated."""
    return all(size == 1 or count == 1 for size, count in zip(dims, times, strict=True))


def spread(x: Any, sizes: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor whose dimensions of size 1 are repeated."""
    return x.expand(sizes).contiguous()


@tile_op.gradient
def tile_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.arrays.indexing import slice_helper
    from stillflow.ops.arrays.sequences import range
    from stillflow.ops.arrays.shape import reshape, shape, size
    from stillflow.ops.arrays.stack import stack
    from stillflow.ops.arrays.transpose import transpose
    from stillflow.ops.math.cast import cast
    from stillflow.ops.math.division import mod
    from stillflow.ops.math.segment import unsorted_segment_sum

    x, multiples = node.inputs
    input_shape = shape(x, out_type=multiples.dtype)
    # Each dimension is split into its copies and its size; the copies are added up.
    split_shape = reshape(transpose(stack([multiples, input_shape])), [-1])
    axes = range(0, size(split_shape), 2)
    if isinstance(grad, IndexedSlices):
        rows = cast(slice_helper(input_shape, 0), grad.indices.dtype)
        grad = unsorted_segment_sum(grad.values, mod(grad.indices, rows), rows)
        split_shape = concat([[1], slice_helper(split_shape, slice(1, None))], axis=0)
    result = reduce_sum.value(reshape(grad, split_shape), axes)
    result.set_shape(x.get_shape())
    return [result, None]


@tile_op.samples
def tile_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, [2, 1], fixed=(1,))
    yield Sample(x, np.array([2, 0]), fixed=(1,), grad=False)
    yield Sample(np.array([b"a"], object), [3], fixed=(1,))
    yield Bad(x, [2, -1], match="must be >= 0|Expected multiples|-1")


@export("tile", "manip.tile")
@dispatchable
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Repeats a tensor along each of its dimensions.

    Args:
      input: a tensor.
      multiples: how often, one number for each dimension; int32 or int64.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.tile([[1, 2]], multiples=[2, 2])))
      [[1 2 1 2]
       [1 2 1 2]]
    """
    return tile_op(input, multiples, name=name)


# ---- the sum over the copies, as graphs before version 3 have it

tile_grad_op = op(
    "TileGrad(input: T, multiples: int32) -> output: T; T: type", numbers=("multiples",)
)


@tile_grad_op.shape
def tile_grad_shape(node: Node) -> OutputDims:
    dims, multiples = node.dims(0), node.value(1)
    if dims is None or multiples is None:
        return None
    return tuple([
        None if dim is None else dim // count
        for dim, count in zip(dims, multiples.tolist(), strict=True)
    ])  # fmt: skip


@tile_grad_op.kernel
def tile_grad_kernel(node: Node) -> Kernel:
    def add_copies(grad: Any, multiples: Any) -> torch.Tensor:
        counts = ints(multiples)
        if len(counts) != grad.ndim or any(
            count < 1 or size % count for size, count in zip(grad.shape, counts, strict=True)
        ):
            raise ValueError(f"{list(grad.shape)} is not what {counts} copies give")
        split = [
            part for size, count in zip(grad.shape, counts, strict=True)
            for part in (count, size // count)
        ]  # fmt: skip
        axes = tuple(range(0, len(split), 2))
        return grad.reshape(split).sum(axes, dtype=grad.dtype) if axes else grad.clone()

    return add_copies
