"""Functions of each element of a tensor that native loops compute sooner than torch does."""

from __future__ import annotations

from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

_MANY = 1 << 12  # of fewer, torch is done sooner than a loop is called


def square_roots(x: Any) -> torch.Tensor:
    """Return the square root of each element; those of zeros take no longer than others."""
    return _taken("square_roots", x, torch.empty_like(x)) if _has_loop(x) else torch.sqrt(x)


def square_roots_(x: Any) -> torch.Tensor:
    """`square_roots`, into the memory of `x`."""
    return _taken("square_roots", x, x) if _has_loop(x) else torch.sqrt_(x)


def tangents(x: Any) -> torch.Tensor:
    """Return the hyperbolic tangent of each element."""
    return _taken("hyperbolic_tangents", x, torch.empty_like(x)) if _has_loop(x) else torch.tanh(x)


def tangents_(x: Any) -> torch.Tensor:
    """`tangents`, into the memory of `x`."""
    return _taken("hyperbolic_tangents", x, x) if _has_loop(x) else torch.tanh_(x)


def _has_loop(x: Any) -> bool:
    return x.numel() >= _MANY and native_calls.take(x)


def _taken(loop: str, x: Any, out: Any) -> Any:
    function = getattr(native.library(), loop)
    function(x.data_ptr(), out.data_ptr(), x.numel(), torch.get_num_threads())
    return out
