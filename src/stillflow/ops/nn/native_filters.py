"""Filters brought from the graph's order into torch's and back, by the loop in C.

Torch's kernels want the outputs of a filter first, the graph has them last. Torch's own copy, which
reads or writes one number of every line of memory at a time, takes twice to four times as long.
"""

from __future__ import annotations

import math
from typing import Any

from stillflow.ops import native_kernels

_FEW = 1 << 15  # numbers that torch copies as fast


def applies(tensor: Any) -> bool:
    """Return True if the loop is there for a tensor and worth its call."""
    return tensor.numel() >= _FEW and native_kernels.take(tensor)


def rotated(tensor: Any, first: int) -> Any:
    """Return the tensor with the dimensions from `first` on before the others, contiguous."""
    outer, inner = tensor.shape[:first], tensor.shape[first:]
    result = tensor.new_empty((*inner, *outer))
    native_kernels.call("transpose_matrix", tensor.data_ptr(), math.prod(outer), math.prod(inner),
               result.data_ptr())  # fmt: skip
    return result
