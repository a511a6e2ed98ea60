"""LU decompositions with partial pivoting: Lu."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.linalg.decompositions import (
    FIELD,
    TRAITS,
    check_invertible,
    in_float32,
    square_shape,
)
from stillflow.ops.linalg.operands import square_factors
from stillflow.ops.samples import Sample, Samples

lu_op = op(
    "Lu(input: T) -> (lu: T, p: output_idx_type)\n"
    f"{FIELD}\noutput_idx_type: {{int32, int64}} = int32",
    **TRAITS,
)

lu_op.check(square_factors)


@lu_op.shape
def lu_shape(node: Node) -> OutputDims:
    matrix = square_shape(node)
    return [matrix, None if matrix is None else matrix[:-1]]


@lu_op.kernel
def lu_kernel(node: Node) -> Kernel:
    index = getattr(torch, node.output_idx_type.torch_name)

    def run(matrix: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if not matrix.shape[-1]:
            return matrix.clone(), matrix.new_zeros(matrix.shape[:-1], dtype=index)
        packed, pivots, info = torch.linalg.lu_factor_ex(matrix)
        check_invertible(info, matrix.numel())
        check_invertible(packed[..., 0, 0].isnan(), matrix.numel())
        return packed.contiguous(), _rows_after(packed, pivots).to(index)

    return in_float32(run)


def _rows_after(packed: Any, pivots: Any) -> torch.Tensor:
    """Return which row stands where after the exchanges of a decomposition, all from 0."""
    if not pivots.is_cpu:
        return torch.lu_unpack(packed, pivots, unpack_data=False)[0].real.argmax(-2)
    steps = np.ascontiguousarray(pivots.numpy().reshape(-1, pivots.shape[-1]).T) - 1
    matrices = np.arange(steps.shape[1])
    rows = np.repeat(np.arange(len(steps))[:, None], len(matrices), 1)
    for row, others in zip(rows, steps):  # each exchanges a row of every matrix
        moved = rows[others, matrices]
        rows[others, matrices] = row
        row[:] = moved
    return torch.from_numpy(np.ascontiguousarray(rows.T)).reshape(pivots.shape)


@lu_op.samples
def lu_samples() -> Samples:
    matrix = np.array([[2.0, 1.0, 0.5], [0.3, 3.0, 1.0], [0.2, 0.1, 4.0]])
    yield Sample(np.stack([matrix, matrix[::-1]]), grad=False)  # exchanges rows
    yield Sample(np.zeros([2, 0, 0], np.float32), grad=False)


@export("linalg.lu")
def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """LU decompositions with partial pivoting: both factors in one matrix, and permutations."""
    return lu_op(input, output_idx_type=output_idx_type, name=name)
