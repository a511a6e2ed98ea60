"""Ragged tensors as sparse ones: RaggedTensorToSparse."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.ragged.rows import check_splits, row_numbers
from stillflow.ops.samples import Bad, Sample, Samples

ragged_tensor_to_sparse_op = op(
    """
    RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T)
        -> (sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)
    RAGGED_RANK: int >= 1
    T: type
    Tsplits: {int32, int64} = int64
""",
    view=True,
    devices="host",
)


@ragged_tensor_to_sparse_op.shape
def ragged_tensor_to_sparse_shape(node: Node) -> OutputDims:
    rank = node.RAGGED_RANK
    values = dims.with_rank_at_least(node.dims(rank), 1)
    for place in range(rank):
        dims.with_rank(node.dims(place), 1)
    count = dims.num_elements(values)
    width = None if values is None else len(values) + rank
    return [(count, width), (count,), (width,)]


@ragged_tensor_to_sparse_op.kernel
def ragged_tensor_to_sparse_kernel(node: Node) -> Kernel:
    def run(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor | Array, torch.Tensor]:
        *nested, values = inputs
        nested = [splits.to(torch.int64) for splits in nested]
        check_splits(nested, len(values))
        widths = [int((splits[1:] - splits[:-1]).max()) if len(splits) > 1 else 0
                  for splits in nested]  # fmt: skip
        size = [len(nested[0]) - 1, *widths, *values.shape[1:]]
        return _indices(nested, values.shape), values.reshape(-1), torch.tensor(size)

    return run


def _indices(nested: Sequence[Any], size: Sequence[int]) -> torch.Tensor:
    """Return the indices of all elements in row-major order."""
    inner = prod(size[1:])
    position = torch.arange(size[0])
    columns = []
    for splits in reversed(nested):
        rows = row_numbers(splits)[position]
        columns.append(position - splits[rows])
        position = rows
    outer = torch.stack([position, *reversed(columns)], 1).repeat_interleave(inner, 0)
    within = np.indices(size[1:], np.int64).reshape(len(size) - 1, inner).T.copy()
    return torch.cat([outer, torch.from_numpy(within).repeat(size[0], 1)], 1)


@ragged_tensor_to_sparse_op.gradient
def ragged_tensor_to_sparse_gradient(node: Node, indices: Any, values: Any, size: Any) -> Gradients:
    flat = node.inputs[-1]
    return [*[None] * (len(node.inputs) - 1), reshape(values, shape(flat))]


@ragged_tensor_to_sparse_op.samples
def ragged_tensor_to_sparse_samples() -> Samples:
    splits, inner = np.array([0, 2, 2, 3]), np.array([0, 1, 3, 4])
    values = np.array([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], np.float32)
    yield Sample([splits, inner], values, grad=(1,))
    yield Sample([inner], np.array([b"a", b"b", b"c", b"d"], object))
    yield Bad([inner + 1], values, match="First value of ragged splits must be 0")
    yield Bad([splits], values, match="Final value of ragged splits")
