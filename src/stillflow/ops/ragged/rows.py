"""What kernels of ragged tensors share: rows as ranges, row numbers, checks of splits."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch


def ranges(starts: Any, limits: Any) -> Any:
    """The integers from each start to its limit, one range after the other."""
    lengths = limits - starts
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    shift = torch.repeat_interleave(starts - (ends - lengths), lengths)
    return shift + torch.arange(total, dtype=shift.dtype, device=shift.device)


def row_numbers(splits: Any) -> Any:
    """For every value the number of its row."""
    rows = torch.arange(len(splits) - 1, dtype=splits.dtype, device=splits.device)
    return torch.repeat_interleave(rows, splits[1:] - splits[:-1])


def splits_of(lengths: Any) -> Any:
    """The splits of rows of given lengths."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0).to(lengths.dtype)])
