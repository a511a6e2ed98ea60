"""Choices of whole rows by a mask of bits, which the vector instructions for integers make.

They are exact: infinities and NaNs of a row that is not chosen leave no trace.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch


def row_mask(condition: Any, dims: tuple[int, ...], bits: torch.dtype) -> Any:
    """Numbers of shape `dims` with all bits set where the condition holds, else none."""
    return condition.to(bits).neg_().reshape(dims)


def choose(mask: Any, x: Any, y: Any) -> Any:
    """`x` where the mask's bits are set, else `y`."""
    bits, other = mask.dtype, y.view(mask.dtype)
    return (
        torch.bitwise_xor(x.view(bits), other).bitwise_and_(mask).bitwise_xor_(other).view(y.dtype)
    )


def keep(mask: Any, x: Any) -> Any:
    """`x` where the mask's bits are set, else zeros."""
    return torch.bitwise_and(x.view(mask.dtype), mask).view(x.dtype)
