"""Square roots that take no longer of zeros than of other numbers."""

from __future__ import annotations

from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

_MANY = 1 << 12  # of fewer, torch is done sooner than a loop is called


def square_roots(x: Any) -> torch.Tensor:
    """Return the square root of each element of a tensor."""
    return _taken(x, torch.empty_like(x)) if _has_loop(x) else torch.sqrt(x)


def square_roots_(x: Any) -> torch.Tensor:
    """`square_roots`, into the memory of `x`."""
    return _taken(x, x) if _has_loop(x) else torch.sqrt_(x)


def _has_loop(x: Any) -> bool:
    return x.numel() >= _MANY and native_calls.take(x)


def _taken(x: Any, out: Any) -> Any:
    library: Any = native.library()
    library.square_roots(x.data_ptr(), out.data_ptr(), x.numel(), torch.get_num_threads())
    return out
