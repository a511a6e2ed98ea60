"""Sums, products and extremes of slices of rows along an axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import Card, op
from stillflow.graph.dims import Dim, Dims
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.kernels import moving
from stillflow.ops.math import segment_kernels
from stillflow.ops.math.kernels import ANY_NUMBER, no_kernel
from stillflow.ops.samples import Bad, Sample, Samples


def _slices_in(indices: Dims) -> Dim:
    """Return the number of slices, from the shape of the indices."""
    if indices is None:
        return None
    dims_lib.with_rank_at_most(dims_lib.with_rank_at_least(indices, 1), 2)
    if len(indices) == 1:
        return dims_lib.subtract(dims_lib.maximum(indices[0], 1), 1)
    return indices[0]


def reduce_slice_shape(node: Node) -> tuple[int | None, ...] | None:
    """Return the shape rule of all of them."""
    axes, data, indices = node.dims(2), node.dims(0), node.dims(1)
    dims_lib.with_rank(axes, 0)
    dims_lib.with_rank_at_least(data, 1)
    count = _slices_in(indices)
    axis = node.value(2)
    if not node.planning:
        if indices is not None and len(indices) == 2:
            dims_lib.merge_dim(indices[1], 2)
        if axis is None:
            return dims_lib.unknown(dims_lib.rank(data))
        # TensorFlow puts the number of slices into the shape of the indices, not of the data.
        return dims_lib.replace_dim(data if indices is None else indices, int(axis), count)
    if indices is not None and len(indices) == 2 and indices[1] == 1:
        count = _slices_in(indices[:1])
    if axis is None or data is None:
        return dims_lib.unknown(dims_lib.rank(data))
    return dims_lib.replace_dim(data, _checked_axis(int(axis), len(data)), count)


def _checked_axis(axis: int, rank: int) -> int:
    if not 0 <= axis < rank:  # TensorFlow ends the process
        raise ValueError(f"axis must be in [0, {rank}), but is {axis}")
    return axis


def _bounds(indices: Any, size: int) -> tuple[Any, Any]:
    """Return the first row and the number of rows of each slice."""
    if indices.dim() == 2 and indices.shape[1] == 2:
        first, end = indices.long().unbind(1)
    elif indices.dim() == 1 or (indices.dim() == 2 and indices.shape[1] == 1):
        places = indices.long().reshape(-1)
        first, end = places[:-1], places[1:]
    else:
        raise ValueError(f"indices must be of shape [n], [n, 1] or [n, 2]: {list(indices.shape)}")
    lengths = (end.clamp(max=size) - first).clamp(min=0)
    if bool((first[lengths > 0] < 0).any()):  # TensorFlow reads the memory before the data
        raise ValueError("slices must begin at 0 or later")
    return first, lengths


def _kernel(combine: Any, dtype: DType) -> Callable[..., Any]:
    pick = moving(dtype, lambda rows, places: rows[places])

    def reduce(data: Any, indices: Any, axis: Any) -> torch.Tensor:
        dimension = _checked_axis(int(axis), data.dim())
        rows = data.movedim(dimension, 0)
        first, lengths = _bounds(indices.to(data.device), len(rows))
        numbers = torch.arange(len(first), device=data.device).repeat_interleave(lengths)
        before = lengths.cumsum(0) - lengths  # rows of all slices up to each of them
        places = torch.arange(len(numbers), device=data.device) + (first - before)[numbers]
        return combine(pick(rows, places), numbers, len(first)).movedim(0, dimension).contiguous()

    return reduce


def _extremes(node: Node, largest: bool) -> Callable[..., Any]:
    if node.T.is_complex:
        raise no_kernel(node)
    return segment_kernels.extremes(node.T, largest, infinite=True)


_ROWS = np.array([[1, 2], [40, 50], [700, 800], [1000, 2000]], np.float32)


def _samples() -> Samples:
    # Only of these does TensorFlow say the shape right.
    axis = np.int64(0)
    yield Sample(
        _ROWS, np.array([[0, 1], [1, 1], [0, 2], [3, 9]], np.int32), axis, grad=False, fixed=(2,)
    )
    yield Sample(_ROWS[:, 0], np.array([0, 1, 4], np.int64), axis, grad=False, fixed=(2,))
    yield Sample(_ROWS[:, 0], np.array([2], np.int64), axis, grad=False, fixed=(2,))
    yield Bad(
        _ROWS,
        np.array([[0, 1]], np.int64),
        np.int64(2),
        match=r"axis must be in \[0, 2\)|dim_index 2",
    )
    yield Bad(_ROWS, np.array([[-1, 1]], np.int64), axis, match="begin at 0")
    yield Bad(_ROWS, np.array([[0, 1, 2]], np.int64), axis, match="must be equal|of shape")


def _op(name: str, combine_of: Callable[[Node], Any]) -> Card:
    card = op(
        f"{name}(data: T, indices: Tindices, axis: int64) -> output: T; T: {ANY_NUMBER}; "
        "Tindices: {int32, int64}",
        numbers=("axis",),
    )
    card.shape(reduce_slice_shape)
    card.kernel(lambda node: _kernel(combine_of(node), node.T))
    card.samples(_samples)
    return card


reduce_slice_sum_op = _op("ReduceSliceSum", lambda node: segment_kernels.sums(node.T))
reduce_slice_prod_op = _op("ReduceSliceProd", lambda node: segment_kernels.products(node.T))
reduce_slice_max_op = _op("ReduceSliceMax", partial(_extremes, largest=True))
reduce_slice_min_op = _op("ReduceSliceMin", partial(_extremes, largest=False))
