"""Largest and smallest numbers of short rows, and how often these are where labels say."""

from __future__ import annotations

from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

_FEW = 1 << 15  # numbers that one thread goes through while several would still wake up


def takes(rows: Any) -> bool:
    """Return True if the native loop supports a tensor: rows with at least one of few numbers."""
    return 0 < rows.numel() <= _FEW and native_calls.take(rows)


def as_rows(x: Any, axis: int) -> torch.Tensor:
    """Move a dimension to the end, where the native loop wants it, if the tensor allows it."""
    fits = x.numel() <= _FEW and x.dtype is torch.float32 and x.is_cpu
    if axis in (-1, x.ndim - 1) or not fits:
        return x
    return x.movedim(axis, -1).contiguous()


def places(rows: Any, largest: bool) -> torch.Tensor:
    """Return the first places of the extreme numbers in the last dimension, int64; NaNs aside."""
    library, result = native.library(), torch.empty(rows.shape[:-1], dtype=torch.int64)
    assert library is not None
    library.find_extremes(
        rows.data_ptr(), result.numel(), rows.shape[-1], int(not largest), result.data_ptr()
    )
    return result


def share(rows: Any, labels: Any) -> torch.Tensor:
    """Return the share of rows [number, classes] whose largest number is where a label says.

    `labels` are int64 [number], or as `rows`, and largest at the place. None without a loop for
    them.
    """
    are_rows = labels.dtype is torch.float32
    number, classes = rows.shape
    if are_rows:
        fits = labels.shape == rows.shape and native_calls.take(labels)
    else:
        fits = labels.dtype is torch.int64 and labels.shape == (number,) and labels.is_contiguous()
    if not fits:
        return None
    library = native.library()
    assert library is not None
    hits = library.count_hits(rows.data_ptr(), number, classes, labels.data_ptr(), are_rows)
    return torch.scalar_tensor(hits / number)
