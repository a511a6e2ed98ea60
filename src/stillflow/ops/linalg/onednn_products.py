"""Products of large float32 matrices by oneDNN, where PyTorch's own library is the slower one.

PyTorch multiplies by MKL, which leaves AVX-512 aside on processors that are not Intel's; oneDNN
takes half the time there. Small products stay with PyTorch, whose calls cost less.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from typing import Any

from stillflow.graph.lazy import torch

LEAST = 1 << 21  # multiplications; below, both take 40 us or less


@cache
def is_available() -> bool:
    """Return True if this PyTorch has oneDNN's product."""
    return bool(
        torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Return x times the transposed weight, plain or packed, and a bias, by oneDNN."""
    return torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], "")


@cache
def is_faster() -> bool:
    """Return True on AMD's processors with AVX-512, if PyTorch has MKL and oneDNN."""
    has_both = torch.backends.mkl.is_available() and is_available()
    has_avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return has_both and has_avx512 and "AuthenticAMD" in _processor()


def _processor() -> str:
    """Return a text that names the vendor of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line for line in file if line.startswith("vendor_id")), "")
    except OSError:
        return platform.processor()


def multiply(a: Any, b: Any) -> Any:
    """Return the product of two matrices on the processor, of any type."""
    if is_faster() and a.dtype is torch.float32:
        return multiply_large(a, b)
    return torch.mm(a, b)


def multiply_large(a: Any, b: Any) -> Any:
    """Return the product of two float32 matrices, if it is large by oneDNN."""
    if a.shape[0] * a.shape[1] * b.shape[1] < LEAST:
        return torch.mm(a, b)
    return linear(a, b.t())


def product(multiply: Callable[..., Any], transposes: tuple[bool, bool]) -> Callable[..., Any]:
    """Return the function that multiplies two matrices, transposed first, by `multiply`."""
    if transposes[0]:
        if transposes[1]:
            return lambda a, b: multiply(a.t(), b.t())
        return lambda a, b: multiply(a.t(), b)
    return (lambda a, b: multiply(a, b.t())) if transposes[1] else multiply
