"""Shared parts of ragged kernels: rows as ranges, row numbers, checks of splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.lazy import torch


def ranges(starts: Any, limits: Any) -> torch.Tensor:
    """Return the integers from each start to its limit, one range after the other."""
    lengths = limits - starts
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    shift = torch.repeat_interleave(starts - (ends - lengths), lengths)
    return shift + torch.arange(total, dtype=shift.dtype, device=shift.device)


def row_numbers(splits: Any) -> torch.Tensor:
    """Return the row number of every value."""
    rows = torch.arange(len(splits) - 1, dtype=splits.dtype, device=splits.device)
    return torch.repeat_interleave(rows, splits[1:] - splits[:-1])


def splits_of(lengths: Any) -> torch.Tensor:
    """Return the splits of rows of given lengths."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0).to(lengths.dtype)])


_MISFIT = "Final value of ragged splits must match the length the corresponding ragged values."


def check_splits(nested: Sequence[Any], size: int) -> None:
    """Raise ValueError for splits that do not start at 0, decrease, or end past the values.

    `nested` are those of all ragged dimensions, from the outermost on; `size` that of the values.
    """
    for splits in nested:
        if not len(splits):
            raise ValueError("ragged splits may not be empty.")
        if splits[0] != 0:
            raise ValueError("First value of ragged splits must be 0.")
    limits = [*(len(splits) - 1 for splits in nested[1:]), size]
    for splits, limit in zip(nested, limits):
        if splits[-1] != limit:
            raise ValueError(_MISFIT)
    for splits in nested:
        falls = (splits[1:] < splits[:-1]).nonzero()
        if len(falls):
            place = int(falls[0])
            raise ValueError(
                "Ragged splits should be non decreasing, but we got "
                f"{int(splits[place])} followed by {int(splits[place + 1])}"
            )
