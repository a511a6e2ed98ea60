"""Rows of indices: their order, their bounds, the common rows of two sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.ops.arrays.native_kernels import sorted_places
from stillflow.ops.arrays.rows import change_rows
from stillflow.ops.kernels import copied
from stillflow.ops.sparse import native_kernels

OUT_OF_ORDER = (
    "out of order. Many sparse ops require sorted indices.\n"
    "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
)


def row_numbers(indices: Any, shape: Sequence[int]) -> torch.Tensor:
    """Return each row's index in the flattened dense tensor; ascending order is row-major order."""
    strides = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1].copy()
    return (indices * torch.from_numpy(strides).to(indices.device)).sum(1)


def check_parts(indices: Any, values: Any, size: Any) -> None:
    """Raise ValueError for parts of a sparse tensor whose shapes are inconsistent."""
    if indices.ndim != 2:
        raise ValueError(
            f"Input indices should be a matrix but received shape {shape_text(indices.shape)}"
        )
    if values.ndim != 1:
        raise ValueError(
            f"Input values should be a vector but received shape {shape_text(values.shape)}"
        )
    if size.ndim != 1:
        raise ValueError(
            f"Input shape should be a vector but received shape {shape_text(size.shape)}"
        )
    if indices.shape[0] != values.shape[0]:
        raise ValueError(
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {len(indices)}, values = {len(values)})"
        )
    if indices.shape[1] != size.shape[0]:
        raise ValueError(
            f"Input shape has {len(size)} dimensions, but indices have {indices.shape[1]} columns"
        )


def first_outside(indices: Any, shape: Sequence[int]) -> int | None:
    """Return the number of the first row outside a shape, None if all are inside."""
    limits = torch.tensor(list(shape), dtype=indices.dtype, device=indices.device)
    outside = ((indices < 0) | (indices >= limits)).any(1)
    return int(outside.int().argmax()) if bool(outside.any()) else None


def check_inside(indices: Any, shape: Sequence[int]) -> None:
    """Raise ValueError for the first row outside a shape."""
    row = first_outside(indices, shape)
    if row is not None:
        raise ValueError(
            f"indices[{row}] = {shape_text(indices[row])} is out of bounds: "
            f"need 0 <= index < {shape_text(shape)}"
        )


def check_rows(indices: Any, shape: Sequence[int]) -> None:
    """Raise ValueError for a row outside a shape, a repeated one, or one not in row-major order."""
    if native_kernels.are_in_order(indices, shape):
        return
    check_inside(indices, shape)
    steps = row_numbers(indices, shape).diff()
    if bool((steps <= 0).any()):
        row = int((steps <= 0).int().argmax()) + 1
        fault = "repeated" if int(steps[row - 1]) == 0 else OUT_OF_ORDER
        raise ValueError(f"indices[{row}] = {shape_text(indices[row])} is {fault}")


def take_rows(values: Any, order: Any) -> torch.Tensor | Array:
    """Rows of numbers or of strings."""
    return values[order.cpu().numpy()] if isinstance(values, np.ndarray) else values[order]


def reordered(indices: Any, values: Any, size: Any) -> tuple[Any, Any]:
    """Return indices in row-major order and their values; equal ones keep their order."""
    if native_kernels.are_in_order(indices, size.tolist()):
        as_it_is = copied(values)
        return indices.clone(), as_it_is
    if bool(((indices < 0) | (indices >= size)).any()):  # indices outside are ordered, too
        order = torch.from_numpy(np.lexsort(indices.numpy().T[::-1]))
    else:
        order = sorted_places(row_numbers(indices, size.tolist()))
    return indices[order], take_rows(values, order)


def joined(first: Any, second: Any) -> tuple[Any, Any, Any]:
    """All different rows of two index matrices, in order, and where the rows of each are."""
    if torch.equal(first, second):  # as where two tensors were made of one
        numbers = _numbers(first)
        if numbers is not None and _ascend(numbers):
            places = torch.arange(len(first), device=first.device)
            return first, places, places
    both = torch.cat([first, second])
    numbers = _numbers(both)
    if numbers is None:
        rows, places = torch.unique(both, dim=0, return_inverse=True)
    else:
        places = _merged(numbers[: len(first)], numbers[len(first) :])
        rows = both.new_empty(int(places.max()) + 1, both.shape[1])
        change_rows(rows, places, both, "update")
    return rows, places[: len(first)], places[len(first) :]


def at_rows(rows: Any, known: Any, values: Any) -> Any:
    """Return the value of each of `rows` among `known`, which has `values`.

    Zero for a row not in it.
    """
    everything, places, found = joined(rows, known)
    spread = torch.zeros(len(everything), dtype=values.dtype, device=values.device)
    spread[found] = values
    return spread[places]


def _numbers(rows: Any) -> torch.Tensor | None:
    """Integers in the order of rows, equal where rows are; None if there are not enough of them."""
    if not rows.numel():
        return None
    low, high = rows.amin(0), rows.amax(0)
    sizes = [b - a + 1 for a, b in zip(low.tolist(), high.tolist())]
    return row_numbers(rows - low, sizes) if prod(sizes) < 1 << 62 else None


def _ascend(numbers: Any) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


def _merged(first: Any, second: Any) -> Any:
    """Return the places of two integer vectors among all distinct ones, in order."""
    places = native_kernels.merged(first, second)
    if places is not None:
        return places
    if not (len(first) and _ascend(first) and _ascend(second)):
        return torch.unique(torch.cat([first, second]), return_inverse=True)[1]
    before = torch.searchsorted(first, second)
    new = (before == len(first)) | (first[before.clamp(max=len(first) - 1)] != second)
    behind = torch.bincount(before[new], minlength=len(first) + 1)[: len(first)]
    return torch.cat([
        torch.arange(len(first), device=first.device) + behind.cumsum(0),
        before + new.cumsum(0) - new.long(),
    ])  # fmt: skip


class RowsUnless:
    """Rows with zeros instead of those that are flagged.

    Args:
      choose: the kernel of Select, which does the same.
    """

    small_step = ("rows_unless",)

    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose

    def __call__(self, flags: Any, like: Any, x: Any) -> Any:
        """Compute from bool [rows], a tensor of the result's shape, and [rows, columns]."""
        if like.shape == x.shape:
            kept = native_kernels.rows_unless(flags, x)
            if kept is not None:
                return kept
        condition = flags.reshape(-1, 1).expand(-1, x.shape[1])
        return self._choose(condition, torch.zeros_like(like), x)
