"""Rows of indices: their order, their bounds, what two sets of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph.lazy import torch

OUT_OF_ORDER = (
    "out of order. Many sparse ops require sorted indices.\n"
    "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
)


def listed(values: Any) -> str:
    return f"[{','.join(str(int(value)) for value in values)}]"


def row_numbers(indices: Any, shape: Sequence[int]) -> Any:
    """Where each row stands in the flattened dense tensor; ascending order is row-major order."""
    strides = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1].copy()
    return (indices * torch.from_numpy(strides).to(indices.device)).sum(1)


def check_parts(indices: Any, values: Any, size: Any) -> None:
    """Refuses the parts of a sparse tensor whose shapes do not go together.

    Raises:
      ValueError: saying which.
    """
    if indices.ndim != 2:
        raise ValueError(
            f"Input indices should be a matrix but received shape {listed(indices.shape)}"
        )
    if values.ndim != 1:
        raise ValueError(
            f"Input values should be a vector but received shape {listed(values.shape)}"
        )
    if size.ndim != 1:
        raise ValueError(f"Input shape should be a vector but received shape {listed(size.shape)}")
    if len(indices) != len(values):
        raise ValueError(
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {len(indices)}, values = {len(values)})"
        )
    if indices.shape[1] != len(size):
        raise ValueError(
            f"Input shape has {len(size)} dimensions, but indices have {indices.shape[1]} columns"
        )


def first_outside(indices: Any, shape: Sequence[int]) -> int | None:
    """The number of the first row outside a shape, None if all are inside."""
    limits = torch.tensor(list(shape), dtype=indices.dtype, device=indices.device)
    outside = ((indices < 0) | (indices >= limits)).any(1)
    return int(outside.int().argmax()) if bool(outside.any()) else None


def check_inside(indices: Any, shape: Sequence[int]) -> None:
    """Refuses rows outside a shape.

    Raises:
      ValueError: naming the first one.
    """
    row = first_outside(indices, shape)
    if row is not None:
        raise ValueError(
            f"indices[{row}] = {listed(indices[row])} is out of bounds: "
            f"need 0 <= index < {listed(shape)}"
        )


def check_rows(indices: Any, shape: Sequence[int]) -> None:
    """Refuses rows outside a shape, repeated ones, and ones not in row-major order.

    Raises:
      ValueError: naming the first one.
    """
    check_inside(indices, shape)
    steps = row_numbers(indices, shape).diff()
    if bool((steps <= 0).any()):
        row = int((steps <= 0).int().argmax()) + 1
        fault = "repeated" if int(steps[row - 1]) == 0 else OUT_OF_ORDER
        raise ValueError(f"indices[{row}] = {listed(indices[row])} is {fault}")


def take_rows(values: Any, order: Any) -> Any:
    """Rows of numbers or of strings."""
    return values[order.cpu().numpy()] if isinstance(values, np.ndarray) else values[order]


def joined(first: Any, second: Any) -> tuple[Any, Any, Any]:
    """All different rows of two index matrices, in order, and where the rows of each are."""
    rows, places = torch.unique(torch.cat([first, second]), dim=0, return_inverse=True)
    return rows, places[: len(first)], places[len(first) :]
