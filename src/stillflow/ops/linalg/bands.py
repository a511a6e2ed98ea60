"""Parts of matrices: bands and diagonals of batches of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.kernels import moving
from stillflow.ops.linalg.operands import scalar_words
from stillflow.ops.samples import Bad, Sample, Samples

matrix_band_part_op = op(
    """
    MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> band: T
    T: type
    Tindex: {int32, int64} = int64
""",
    numbers=("num_lower", "num_upper"),
)


@matrix_band_part_op.check
def matrix_band_part_check(node: Node) -> None:
    matrix = node.dims(0)
    if matrix is not None and len(matrix) < 2:
        if node.planning:
            shape = dims.to_string(matrix)
            raise ValueError(f"input must be at least 2-dim, received shape: {shape}")
        return
    scalar_words(node, 1, "num_lower")
    scalar_words(node, 2, "num_upper")
    if matrix is None:
        return
    for index, name, size in ((1, "num_lower", matrix[-2]), (2, "num_upper", matrix[-1])):
        value = node.value(index)
        if value is not None and size is not None and value.ndim == 0 and value > size:
            raise ValueError(
                f"{name} must be negative or less or equal to number of "
                f"{'rows' if index == 1 else 'columns'} ({size}) got: {value}"
            )


@matrix_band_part_op.shape
def matrix_band_part_shape(node: Node) -> OutputDims:
    return node.dims(0)


@matrix_band_part_op.kernel
def matrix_band_part_kernel(node: Node) -> Kernel:
    return moving(node.T, _band_part)


def _band_part(matrix: Any, lower: Any, upper: Any) -> torch.Tensor:
    """Zero outside of the band; a negative width keeps the whole triangle."""
    below, above = int(lower), int(upper)
    rows, columns = matrix.shape[-2:]
    for width, size, name in ((below, rows, "num_lower"), (above, columns, "num_upper")):
        if width > size:
            kind = "rows" if name == "num_lower" else "columns"
            raise ValueError(
                f"{name} must be negative or less or equal to number of {kind} ({size}) "
                f"got: {width}"
            )
    offset = torch.arange(columns, device=matrix.device) - torch.arange(
        rows, device=matrix.device
    ).unsqueeze(-1)
    keep = torch.ones((rows, columns), dtype=torch.bool, device=matrix.device)
    if below >= 0:
        keep &= offset >= -below
    if above >= 0:
        keep &= offset <= above
    return torch.where(keep, matrix, torch.zeros((), dtype=matrix.dtype, device=matrix.device))


@matrix_band_part_op.gradient
def matrix_band_part_gradient(node: Node, grad: Tensor) -> Gradients:
    lower, upper = node.inputs[1], node.inputs[2]
    return [matrix_band_part_op(grad, lower, upper), None, None]


@matrix_band_part_op.samples
def matrix_band_part_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for lower, upper in ((0, 0), (1, 0), (-1, 1), (-1, -1), (0, -1)):
        yield Sample(x, lower, upper, fixed=(1, 2))
    yield Bad(x, 5, 0, match="num_lower must be negative or less or equal to number of rows")


@export("linalg.band_part", "matrix_band_part")
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Copy matrices, setting everything outside a central band to zero.

    Args:
      input: `[..., rows, columns]`.
      num_lower: how many diagonals below the main one are kept; all if negative.
      num_upper: how many above it are kept; all if negative.
      name: of the operation.
    """
    result: Tensor = matrix_band_part_op(input, num_lower, num_upper, name=name)
    return result
