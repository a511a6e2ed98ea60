"""Patches of images, and blocks moved about, by loops in C: bytes of any type are copied.

Each function returns None without a native loop for its arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels


class _Along(ctypes.Structure):
    """`Along` of native/patches.c."""

    _fields_ = [(name, ctypes.c_int64)
                for name in ("size", "count", "window", "stride", "rate", "before")]  # fmt: skip


def extract(images: Any, along: Sequence[Sequence[int]]) -> Any:
    """Patches of images [batch, height, width, channels], put into the channels.

    Args:
      images: of any type.
      along: for rows and columns: the size of the images, how many patches there are, their size,
        how far they and how far their pixels are apart, and how far the first begins outside.
    """
    if len(along) != 2 or not native_kernels.reach(images):
        return None
    library: Any = native.library()
    rows, columns = (_Along(*numbers) for numbers in along)
    batch, channels = images.shape[0], images.shape[-1]
    sizes = (batch, rows.count, columns.count, rows.window * columns.window * channels)
    result = torch.empty(sizes, dtype=images.dtype)
    if result.numel():
        library.extract_patches(
            images.data_ptr(), batch, ctypes.byref(rows), ctypes.byref(columns),
            channels * images.itemsize, result.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
    return result


def transposed(x: Any, groups: int, rows: int, columns: int, shape: Sequence[int]) -> Any:
    """Return [groups, rows, columns, ...] as [groups, columns, rows, ...].

    Args:
      x: of as many elements, of any type.
      groups, rows, columns: how many there are.
      shape: of the result.
    """
    count = groups * rows * columns
    if isinstance(x, torch.Tensor) and count and native_kernels.reach(x):
        library: Any = native.library()
        result = torch.empty(tuple(shape), dtype=x.dtype)
        block = prod(shape) // count * x.itemsize
        library.transpose_blocks(
            x.data_ptr(), groups, rows, columns, block, result.data_ptr(), torch.get_num_threads()
        )
        return result
    return None
