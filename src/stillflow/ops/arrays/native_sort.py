"""The order of numbers in rows, by a loop in C: torch compares them, which takes far longer."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels

_LONGEST = (1 << 31) - 1


def sorted_places(keys: Any, descending: bool = False) -> Any:
    """Return the argsort of each row; int64 like the keys.

    Of equal ones the first comes first; those that are not a number are the largest.

    Args:
      keys: [..., columns], of a type that torch can sort.
      descending: whether the largest comes first.
    """
    kinds = [torch.float32, torch.float64, torch.int32, torch.int64]
    fits = keys.dtype in kinds and keys.dim() and 0 < keys.shape[-1] <= _LONGEST and keys.numel()
    if not fits or not native_kernels.reach(keys):
        return torch.sort(keys, stable=True, dim=-1, descending=descending)[1]
    result = torch.empty(keys.shape, dtype=torch.int64)
    columns = keys.shape[-1]
    native_kernels.call(
        "sort_rows", keys.data_ptr(), kinds.index(keys.dtype), keys.numel() // columns, columns,
        descending, result.data_ptr(),
    )  # fmt: skip
    return result
