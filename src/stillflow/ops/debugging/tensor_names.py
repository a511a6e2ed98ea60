"""Names of tensors in messages of assertions."""

from __future__ import annotations

from typing import Any


def named(tensor: Any, otherwise: str) -> str:
    """Return the name of a tensor.

    `otherwise` where it was computed when it was called, and has none.
    """
    return otherwise if getattr(tensor, "holds_value", False) else str(tensor.name)


def described(tensor: Any) -> str:
    """Return the name of a tensor, or its shape and type."""
    return named(tensor, f"shape={tensor.shape} dtype={tensor.dtype!r}")
