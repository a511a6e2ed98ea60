"""Grey-scale dilation by the loop in C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels


class _Along(ctypes.Structure):
    """`Along` of native/morphology.c."""

    _fields_ = [(name, ctypes.c_int64)
                for name in ("size", "count", "window", "stride", "rate", "before")]  # fmt: skip


def best(
    images: Any, filter: Any, along: Sequence[Sequence[int]], notes: bool
) -> tuple[Any, Any] | None:
    """Return the largest sums of images and filter in every window, None where there is no loop.

    Args:
      images: float32 [batch, height, width, depth].
      filter: float32 [rows, columns, depth].
      along: for rows and columns: the size of the images, how many windows there are, the filter's
        size, how far windows and how far the elements of one are apart, and how far the first
        begins outside.
      notes: whether to say which element of the filter gave each sum.

    Returns:
      The sums [batch, rows, columns, depth], and int32 of the same shape, or None.
    """
    if not native_kernels.take(images, filter):
        return None
    library: Any = native.library()
    rows, columns = (_Along(*numbers) for numbers in along)
    shape = (images.shape[0], rows.count, columns.count, images.shape[3])
    result = torch.empty(shape)
    which = torch.empty(shape, dtype=torch.int32) if notes else None
    library.dilate(
        images.data_ptr(), images.shape[0], ctypes.byref(rows), ctypes.byref(columns),
        images.shape[3], filter.data_ptr(), result.data_ptr(),
        None if which is None else which.data_ptr(), torch.get_num_threads(),
    )  # fmt: skip
    return result, which
