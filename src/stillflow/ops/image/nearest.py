"""Resizing by taking the pixel next to each place, and the gradient of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.image import taps
from stillflow.ops.image.sizes import check_resize
from stillflow.ops.kernels import as_signed


def resize(image: Any, size: Any, align: bool, centers: bool) -> torch.Tensor:
    """Run ResizeNearestNeighbor."""
    wanted = size.tolist()
    dtype = dtypes.as_dtype(str(image.dtype).removeprefix("torch."))
    check_resize(align, centers, image.shape, wanted, dtype)
    if max(image.shape[1:3]) >= 1 << 24:
        raise ValueError("nearest neighbor requires max height & width of 2^24")
    batch, height, width, channels = image.shape
    rows, columns = (
        taps.nearest(size, count, align, centers)
        for size, count in zip((height, width), wanted, strict=True)
    )
    if native_calls.reach(image):
        result = torch.empty((batch, *wanted, channels), dtype=image.dtype)
        _call("resize_nearest", image, channels * image.itemsize, rows, columns, result)
        return result
    pixels = torch.from_numpy((rows[:, None] * width + columns).reshape(-1)).to(image.device)
    found = as_signed(image).reshape(batch, height * width, channels).index_select(1, pixels)
    return found.view(image.dtype).view(batch, *wanted, channels)


def gradient(grad: Any, size: Any, align: bool, centers: bool) -> torch.Tensor:
    """Run ResizeNearestNeighborGrad; `size` is that of the images that were resized."""
    wanted = size.tolist()
    if min(wanted) <= 0:
        raise ValueError("shape_t's elements must be positive")
    rows, columns = (
        taps.nearest(count, given, align, centers) if given else np.zeros(0, np.int64)
        for count, given in zip(wanted, grad.shape[1:3], strict=True)
    )
    if native_calls.take(grad):
        result = torch.empty((len(grad), *wanted, grad.shape[3]), dtype=torch.float32)
        _call("resize_nearest_gradient", grad, grad.shape[3], rows, columns, result)
        return result
    result = grad
    for axis, count, found in ((1, wanted[0], rows), (2, wanted[1], columns)):
        sizes = list(result.shape)
        sizes[axis] = count
        total = torch.zeros(sizes, dtype=grad.dtype, device=grad.device)
        total.index_add_(axis, torch.from_numpy(found).to(grad.device), result)
        result = total
    return result


def _call(name: str, given: Any, pixel: int, rows: Any, columns: Any, result: Any) -> None:
    """Call a native loop that writes `result`; `pixel` is a pixel's bytes, or its channels.

    `given` are images or the gradient of resized ones; `rows` and `columns` are of the images, one
    for each of what is resized.
    """
    images = given if name == "resize_nearest" else result
    batch, height, width, _ = images.shape
    if result.numel():
        getattr(native.library(), name)(
            given.data_ptr(), batch, height, width, pixel, rows.ctypes.data, len(rows),
            columns.ctypes.data, len(columns), result.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
