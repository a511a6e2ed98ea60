"""Positions: LowerBound, UpperBound (`tf.searchsorted`), UnravelIndex."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.shape import reshape, shape_internal
from stillflow.ops.kernels import ints, torch_type
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

# ---- LowerBound, UpperBound

_BOUND = """(sorted_inputs: T, values: T) -> output: out_type
    T: type
    out_type: {int32, int64} = int32
"""
lower_bound_op = op("LowerBound" + _BOUND)
upper_bound_op = op("UpperBound" + _BOUND)


def bound_shape(node: Node) -> tuple[int | None, ...] | None:
    if not node.planning:  # the kernel asks for less
        dims_lib.with_rank(node.dims(0), 2)
        dims_lib.with_rank(node.dims(1), 2)
    return node.dims(1)


def ordered(x: Any) -> Any:
    """Numbers of a type that torch cannot sort, as one that it can, in the same order."""
    if x.dtype == torch.uint64:
        return x.view(torch.int64) ^ torch.iinfo(torch.int64).min
    if x.dtype in (torch.uint16, torch.uint32):
        return x.to(torch.int64)
    return x


def lower_bound(table: Any, values: Any, **options: Any) -> torch.Tensor:
    """Return `torch.searchsorted`, with NaN where C++'s search puts it: in front."""
    if table.is_floating_point():
        table, values = (
            table.nan_to_num(torch.inf, torch.inf, -torch.inf),
            values.nan_to_num(-torch.inf, torch.inf, -torch.inf),
        )
    return torch.searchsorted(table.contiguous(), values.contiguous(), **options)


def upper_bound(table: Any, values: Any, **options: Any) -> torch.Tensor:
    """`torch.searchsorted` behind elements that are equal."""
    return torch.searchsorted(table.contiguous(), values.contiguous(), right=True, **options)


def _bound_kernel(right: bool) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        narrow = node.out_type == dtypes.int32

        find = upper_bound if right else lower_bound

        def search(table: Any, values: Any) -> torch.Tensor:
            if table.ndim < 2:
                raise ValueError("sorted input argument must be a matrix")
            if values.ndim < 2 or table.shape[0] != values.shape[0]:
                raise ValueError("Leading dim_size of both tensors must match.")
            if table.ndim > 2 or values.ndim > 2:
                if prod(table.shape[2:]) != 1 or prod(values.shape[2:]) != 1:
                    raise ValueError("sorted_inputs and values must be matrices")
                table = table.reshape(table.shape[:2])
            rows = ordered(values.reshape(values.shape[:2]))
            return find(ordered(table), rows, out_int32=narrow).reshape(values.shape)

        return search

    return kernel


def _bound_samples() -> Samples:
    table = np.array([[1, 3, 3, 9], [0, 1, 2, 3]], np.float32)
    values = np.array([[3, 10], [-1, 2]], np.float32)
    yield Sample(table, values, grad=False)
    yield Sample(table.astype(np.int32), values.astype(np.int32), out_type=dtypes.int64)
    odd = np.array([[np.nan, np.inf], [2, np.nan]], np.float32)
    yield Sample(table, odd, grad=False)
    yield Sample(np.concatenate([table, odd], 1), values, grad=False)
    yield Bad(table, values[:1], match="Leading dim_size of both tensors must match")
    yield Bad(table[0], values, match="must be rank 2|must be a matrix")


for _card, _right in ((lower_bound_op, False), (upper_bound_op, True)):
    _card.shape(bound_shape)
    _card.kernel(_bound_kernel(_right))
    _card.samples(_bound_samples)


@export("searchsorted")
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the indices at which values would be inserted into sorted sequences.

    Args:
      sorted_sequence: sequences along the last dimension.
      values: what to look for, in the sequence of the same leading dimensions.
      side: "left" (before equal elements) or "right" (behind them).
      out_type: of the positions, int32 or int64.
      name: of the operation.

    Raises:
      ValueError: if `side` is neither.
    """
    sequence_size = slice_helper(shape_internal(sorted_sequence), -1)
    values_size = slice_helper(shape_internal(values), -1)
    sequences = reshape(sorted_sequence, [-1, sequence_size])
    flat_values = reshape(values, [-1, values_size])
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    card = upper_bound_op if side == "right" else lower_bound_op
    found = card(sequences, flat_values, out_type=out_type, name=name)
    return reshape(found, shape_internal(values))


# ---- UnravelIndex

unravel_index_op = op(
    "UnravelIndex(indices: Tidx, dims: Tidx) -> output: Tidx; Tidx: {int32, int64} = int32",
    devices="host",
)


@unravel_index_op.shape
def unravel_index_shape(node: Node) -> OutputDims:
    indices = node.dims(0)
    if node.planning and node.dims(1) is not None and len(node.dims(1) or ()) != 1:
        shown = dims_lib.to_string(node.dims(1))
        raise ValueError(f'The indices can only be 1-D, got "{shown}"')
    (count,) = dims_lib.with_rank(node.dims(1), 1)
    if indices is None:
        return None
    return (count,) if not indices else (count, dims_lib.num_elements(indices))


@unravel_index_op.kernel
def unravel_index_kernel(node: Node) -> Kernel:
    dtype = torch_type(node.Tidx)

    def unravel(indices: Any, dims: Any) -> torch.Tensor:
        if indices.ndim > 1:
            raise ValueError(
                "The indices can only be scalar or vector, got "
                f'"{dims_lib.to_string(tuple(indices.shape))}"'
            )
        sizes = ints(dims)
        for axis, size in enumerate(sizes):
            if size == 0:
                raise ValueError(
                    "Input dims cannot contain a dim of zero, but dims contains zero at index "
                    f"{axis}"
                )
            if size < 0:
                raise ValueError(f"Input dims cannot be negative. Got dim = {size} at index {axis}")
        require_room(sizes, dtypes.bool)
        result, inner = [], 1  # of an index that is out of range too, as in TensorFlow
        for size in reversed(sizes):
            result.append(torch.div(indices.fmod(inner * size), inner, rounding_mode="trunc"))
            inner *= size
        if not result:
            return torch.empty((0, *indices.shape), dtype=dtype, device=indices.device)
        return torch.stack(result[::-1]).to(dtype)

    return unravel


@unravel_index_op.samples
def unravel_index_samples() -> Samples:
    yield Sample(np.array([7, 2], np.int32), np.array([3, 3], np.int32))
    yield Sample(np.array(7), np.array([3, 3]))
    yield Sample(np.array([], np.int32), np.array([], np.int32))
    yield Bad(np.array([1]), np.array([3, 0]), match="dims cannot contain a dim of zero")


@export("unravel_index")
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Return the coordinates of elements of an array, from their positions when it is flattened.

    Args:
      indices: int32 or int64, a scalar or vector.
      dims: the shape of the array.
      name: of the operation.

    Returns:
      One row for each dimension of the array.
    """
    return unravel_index_op(indices, dims, name=name)
