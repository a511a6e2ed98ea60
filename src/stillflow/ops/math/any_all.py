"""Reductions of booleans: any and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.lazy import torch

_FEW = 1 << 10  # values that torch goes through while a view of them would be made


def every(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
    """Return True if all elements along axes are true."""
    return _along(torch.all, torch.amin, x, axes, keep)


def some(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
    """Return True if any element along axes is true."""
    return _along(torch.any, torch.amax, x, axes, keep)


def every_of_all(x: Any) -> torch.Tensor:
    """Return True if all elements are true."""
    return _along(torch.all, torch.amin, x)


def some_of_all(x: Any) -> torch.Tensor:
    """Return True if any element is true."""
    return _along(torch.any, torch.amax, x)


def _along(
    plain: Callable[..., Any], of_bytes: Callable[..., Any], x: Any, *how: Any
) -> torch.Tensor:
    """Torch takes truths one by one, but the largest of bytes as many at once as a register has."""
    if x.numel() < _FEW or not x.is_cpu:
        return plain(x, *how)
    return of_bytes(x.view(torch.uint8), *how).view(torch.bool)
