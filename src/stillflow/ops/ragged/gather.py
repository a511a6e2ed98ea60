"""Rows of a ragged tensor by number: RaggedGather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.gather import gather, in_range, out_of_range, take, take_strings
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.kernels import either, index_tensor, moving
from stillflow.ops.ragged.ranges import range_values
from stillflow.ops.ragged.rows import ranges, splits_of
from stillflow.ops.samples import Bad, Sample, Samples

ragged_gather_op = op(
    """
    RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues,
                 indices: Tindices)
        -> (output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues)
    Tvalues: type
    Tindices: {int32, int64}
    Tsplits: {int32, int64} = int64
    PARAMS_RAGGED_RANK: int >= 1
    OUTPUT_RAGGED_RANK: int >= 0
""",
    devices="host",
)


@ragged_gather_op.shape
def ragged_gather_shape(node: Node) -> OutputDims:
    given, made = node.PARAMS_RAGGED_RANK, node.OUTPUT_RAGGED_RANK
    dims.with_rank(node.dims(given + 1), made - given + 1)
    for place in range(given):
        dims.with_rank(node.dims(place), 1)
    values = dims.with_rank_at_least(node.dims(given), 1)
    return [*[(None,)] * made, dims.concat((None,), dims.subshape(values, 1))]


@ragged_gather_op.kernel
def ragged_gather_kernel(node: Node) -> Kernel:
    rank, splits_dtype = node.PARAMS_RAGGED_RANK, node.Tsplits
    pick: Any = either(node, moving(node.Tvalues, take), take_strings, rank)

    def run(*inputs: Any) -> tuple[torch.Tensor | Array, ...]:
        *nested, values, indices = inputs
        rows = len(nested[0]) - 1
        if not in_range(indices, rows):
            raise out_of_range(indices, rows)
        _check_splits(nested, len(values))
        outer = [
            index_tensor(range(0, size * width + 1, width or 1), splits_dtype)
            if width
            else index_tensor([0] * (size + 1), splits_dtype)
            for size, width in zip(indices.shape, indices.shape[1:], strict=False)
        ]
        starts = indices.reshape(-1).to(nested[0].dtype)
        limits = starts + 1
        inner = []
        for splits in nested:
            chosen = ranges(starts, limits)
            inner.append(splits_of(splits[chosen + 1] - splits[chosen]))
            starts, limits = splits[starts], splits[limits]
        if not indices.ndim:
            del inner[0]
        found = pick(values, ranges(starts, limits), 0)
        return (*outer, *inner, found) if outer or inner else found

    return run


def _check_splits(nested: Sequence[Any], size: int) -> None:
    limits = [*map(len, nested[1:]), size]
    for splits, limit in zip(nested, limits):
        if not len(splits):
            raise ValueError("Ragged splits may not be empty")
        if splits[0] < 0:
            raise ValueError("Ragged splits must be non-negative")
        if splits[-1] > limit:
            raise ValueError("Ragged splits must not point past values")
        if bool((splits[1:] < splits[:-1]).any()):
            raise ValueError("Ragged splits must be sorted")


@ragged_gather_op.gradient
def ragged_gather_gradient(node: Node, *grads: Any) -> Gradients:
    *nested, values, indices = node.inputs
    combined = nested[0]
    for splits in nested[1:]:
        combined = gather(splits, combined)
    flat = reshape(indices, [-1])
    rows = range_values(gather(combined, flat), gather(combined[1:], flat))
    slices = IndexedSlices(values=grads[-1], indices=rows, dense_shape=shape(values))
    return [*[None] * len(nested), slices, None]


@ragged_gather_op.samples
def ragged_gather_samples() -> Samples:
    splits, inner = np.array([0, 2, 2, 3]), np.array([0, 1, 3, 4])
    values, words = (
        np.array([1.5, 2.0, 3.0, 4.0], np.float32),
        np.array([b"a", b"b", b"c", b"d"], object),
    )
    rows = np.array([2, 0, 0], np.int32)
    yield Sample([splits, inner], values, rows, OUTPUT_RAGGED_RANK=2)
    yield Sample([inner], values.reshape(4, 1), np.array([[2, 0], [1, 1]]), OUTPUT_RAGGED_RANK=2)
    yield Sample([inner], words, rows, OUTPUT_RAGGED_RANK=1)
    yield Bad([inner], values, rows + 2, OUTPUT_RAGGED_RANK=1, match=r"is not in \[0, 3\)")
    yield Bad([inner + 1], values, rows, OUTPUT_RAGGED_RANK=1, match="not point past values")
