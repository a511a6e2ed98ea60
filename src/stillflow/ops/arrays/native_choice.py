"""Elements of one tensor or of another, by a loop in C: torch looks at one after the other."""

from __future__ import annotations

from math import prod
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels

_FEW = 1 << 12  # elements that torch chooses in less time than a call takes
_SIZES = (1, 2, 4, 8)  # bytes of an element


def choose(condition: Any, x: Any, y: Any) -> Any:
    """`torch.where` of tensors of one type."""
    found = _by_loop(condition, x, y, condition.shape) if condition.numel() >= _FEW else None
    return torch.where(condition, x, y) if found is None else found


def choose_rows(condition: Any, x: Any, y: Any) -> Any:
    """Whole slices along the first dimension of tensors of one shape, chosen by a vector."""
    if condition.ndim == 1 and x.ndim > 1:
        found = _by_loop(condition, x, y, x.shape) if x.numel() >= _FEW else None
        return torch.where(_aligned(condition, x), x, y) if found is None else found
    return choose(condition, x, y)


def _aligned(condition: Any, x: Any) -> Any:
    return condition.reshape(-1, *[1] * (x.ndim - 1))


def _by_loop(condition: Any, x: Any, y: Any, shape: Any) -> Any:
    """None where there is no loop for such tensors."""
    steps = [_step(choice, shape) for choice in (x, y)]
    if None in steps or x.dtype is not y.dtype or x.itemsize not in _SIZES:
        return None
    if condition.dtype is not torch.bool or not native_kernels.reach(condition, x, y):
        return None
    try:
        pointers = [tensor.data_ptr() for tensor in (condition, x, y)]
    except RuntimeError:  # of all turns of a loop at once, by torch.vmap
        return None
    result = torch.empty(shape, dtype=x.dtype)
    native_kernels.call(
        "choose_items", pointers[0], pointers[1], steps[0], pointers[2], steps[1],
        prod(shape) // condition.numel(), x.itemsize, prod(shape), result.data_ptr(),
    )  # fmt: skip
    return result


def _step(choice: Any, shape: Any) -> int | None:
    if choice.shape == shape:
        return 1
    return 0 if not choice.ndim else None
