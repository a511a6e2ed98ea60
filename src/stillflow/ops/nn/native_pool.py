"""Maxima of images by the loops in C, which keep the place of each in one byte.

Torch's kernels write it in eight, and their gradient goes over the whole image once to clear it
before it sends anything there.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stillflow.graph import dims
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels

if TYPE_CHECKING:
    from stillflow.ops.nn.pool_kernels import PoolGeometry

_MOST = 256  # places of a window that a byte tells apart


def applies(image: Any, geometry: PoolGeometry) -> bool:
    """Return True if there is a loop for an image and a window."""
    return (
        geometry.is_channels_last
        and image.ndim == 4
        and math.prod(geometry.window) <= _MOST
        and bool(image.numel())
        and 0 not in _windows(image.shape, geometry)[1]
        and native_kernels.take(image)
    )


@lru_cache(1024)
def _windows(image: Sequence[int], geometry: PoolGeometry) -> tuple[Any, tuple[int, ...]]:
    """Return the native loop's windows on an image of this shape, and the maxima's shape."""
    batch, *sizes, channels = image
    counts = geometry.counts(sizes)
    before = [pad - drop for pad, drop in zip(geometry.padding, geometry.drop)]
    numbers = [*image, *counts, *geometry.window, *geometry.strides, *before]
    return (ctypes.c_int64 * len(numbers))(*numbers), (batch, *counts, channels)


def max_pool(image: Any, geometry: PoolGeometry, with_places: bool) -> tuple[Any, Any]:
    """Return the maxima, and on request their places for `max_pool_gradient`."""
    windows, shape = _windows(image.shape, geometry)
    maxima = image.new_empty(shape)
    places = image.new_empty(shape, dtype=torch.uint8) if with_places else None
    native_kernels.call("max_pool", windows, image.data_ptr(), maxima.data_ptr(),
               None if places is None else places.data_ptr())  # fmt: skip
    return maxima, places


def max_pool_gradient(image: Any, grad: Any, places: Any, geometry: PoolGeometry) -> Any:
    """Send the gradients of the maxima of an image to their places.

    Raises:
      ValueError: if the gradient has another shape than the maxima.
    """
    windows, shape = _windows(image.shape, geometry)
    if grad.shape != shape:
        raise ValueError(
            f"Expected grad shape to be {dims.to_string(shape)}, but got "
            f"{dims.to_string(tuple(grad.shape))}"
        )
    grad, result = grad.to(image).contiguous(), torch.empty_like(image)
    native_kernels.call("max_pool_gradient", windows, grad.data_ptr(), places.data_ptr(),
               result.data_ptr())  # fmt: skip
    return result
