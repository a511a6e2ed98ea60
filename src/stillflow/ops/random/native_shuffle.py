"""Shuffling by the loop in C, which swaps elements one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import native

if TYPE_CHECKING:
    from stillflow.ops.random.philox import Philox

_WIDTHS = (1, 2, 4, 8)


def permutation(stream: Philox, size: int) -> np.ndarray | None:
    """Return the result of `permutation.py` for 2 to 2**31 - 1 elements; None without a loop."""
    library = native.library()
    if library is None:
        return None
    order = np.arange(size)
    _shuffle(library, stream, size, order.itemsize, order.ctypes.data)
    return order


def takes(value: Any) -> bool:
    """Return True if a tensor's rows are elements that `shuffled` can swap."""
    return (
        native.library() is not None
        and value.is_cpu
        and value.is_contiguous()
        and value.numel() == len(value)
        and value.element_size() in _WIDTHS
    )


def shuffled(value: Any, stream: Philox) -> Any:
    """Return a copy of a tensor that it `takes`, of 2 to 2**31 - 1 elements, in random order."""
    result = value.clone()
    _shuffle(native.library(), stream, len(result), result.element_size(), result.data_ptr())
    return result


def _shuffle(library: Any, stream: Philox, size: int, width: int, address: int) -> None:
    library.shuffle_elements(stream.key, stream.low, stream.high, size, width, address)
