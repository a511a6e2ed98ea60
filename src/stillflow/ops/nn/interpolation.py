"""Linear interpolation of images along height and width."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch

_FEW = 16  # fewer channels than these are not worth copying pixel by pixel


class _NativeWeights(ctypes.Structure):
    """`Weights` of native/bilinear.c."""

    _fields_ = [("lower", ctypes.c_void_p), ("upper", ctypes.c_void_p),
                ("fraction", ctypes.c_void_p), ("count", ctypes.c_int64),
                ("step", ctypes.c_int64)]  # fmt: skip


@dataclass(frozen=True, eq=False)  # one is like another only if it is the same
class Weights:
    """Interpolation along one dimension: each output's neighbours and its distance from the first.

    One row of them for all images, or for crops one row each.
    """

    lower: Any
    upper: Any
    fraction: Any

    @cached_property
    def for_library(self) -> Any:
        """The arguments of the native loop, valid as long as this object."""
        parts = [part.ctypes.data for part in (self.lower, self.upper, self.fraction)]
        count = self.lower.shape[-1]
        return ctypes.byref(_NativeWeights(*parts, count, count if self.lower.ndim > 1 else 0))


@lru_cache(maxsize=256)
def weights(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Weights:
    """Return the positions of one dimension's outputs among the inputs.

    The outer outputs lie on the outer inputs if `align_corners`; pixels lie at 0.5, 1.5, ... if
    `half_pixel_centers`, else at 0, 1, ...
    """
    one, half = np.float32(1), np.float32(0.5)
    scale = one * size / np.float32(wanted)
    if align_corners and wanted > 1:
        scale = one * (size - 1) / np.float32(wanted - 1)
    place = np.arange(wanted, dtype=np.float32)
    place = (place + half) * scale - half if half_pixel_centers else place * scale
    floor = np.floor(place)
    # As integers: a float32 next to a large size may be one beyond it.
    lower = np.clip(floor.astype(np.int64), 0, size - 1)
    upper = np.minimum(np.ceil(place).astype(np.int64), size - 1)
    return Weights(lower, upper, place - floor)


def along(parts: Weights, axis: int, device: Any, bits: int) -> Weights:
    """Weights as tensors that broadcast along one axis of an image, fractions as `bits` bits."""
    fraction = (parts.fraction * np.float32(1 << bits)).astype(np.int64)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    lower, upper = (torch.from_numpy(each).to(device) for each in (parts.lower, parts.upper))
    return Weights(lower, upper, torch.from_numpy(fraction).to(device).view(shape))


def interpolate(image: Any, rows: Weights, columns: Weights, dtype: Any = None) -> torch.Tensor:
    """Return an image [batch, height, width, channels] at the weighted places.

    Rounded as TensorFlow's numbers are: first between columns, then between rows.
    """
    dtype = dtype or image.dtype
    library = native.library()
    if library is not None and dtype is torch.float32 and image.is_cpu:
        return interpolate_by(library, image, rows, columns)
    return _by_torch(image, rows, columns, dtype)


def interpolate_by(library: Any, image: Any, rows: Weights, columns: Weights) -> torch.Tensor:
    """Return the same as float32 by the loop in C, for images on the CPU."""
    if image.dtype is not torch.uint8:
        image = image.to(torch.float32)
    image = image.contiguous()
    batch, height, width, channels = image.shape
    shape = (batch, rows.lower.shape[-1], columns.lower.shape[-1], channels)
    result = torch.empty(shape, dtype=torch.float32)
    if result.numel():
        library.resize_bilinear(
            image.data_ptr(), image.dtype is torch.uint8, height, width, channels, batch,
            rows.for_library, columns.for_library, result.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
    return result


def spread_by(
    library: Any, grad: Any, height: int, width: int, rows: Weights, columns: Weights
) -> torch.Tensor:
    """Return the gradient of interpolated images from float32, summed in the loop's own order."""
    sizes = (len(grad), height, width, grad.shape[3])
    result = torch.empty(sizes, dtype=torch.float32)
    if result.numel():
        grad = grad.contiguous()
        library.resize_bilinear_gradient(
            grad.data_ptr(), *sizes, rows.for_library, columns.for_library, result.data_ptr(),
            torch.get_num_threads(),
        )  # fmt: skip
    return result


def _by_torch(image: Any, rows: Weights, columns: Weights, dtype: Any) -> torch.Tensor:
    batch, height, width, channels = image.shape
    few = channels < _FEW
    line: tuple[int, ...] = (width * channels,) if few else (width, channels)
    down = _taps(rows, image.device, dtype)
    across = _taps(columns, image.device, dtype, channels if few else 1)
    count, wanted = len(down.fraction), len(columns.lower)
    rows_first = 2 * count < height
    if rows_first:
        image, height = image.index_select(1, down.places), 2 * count
    lines = image.to(dtype).reshape(batch * height, *line)
    flat = lines.index_select(1, across.places)
    flat = _mixed(flat, across.fraction).view(batch, height, wanted * channels)
    if not rows_first:
        flat = flat.index_select(1, down.places)
    return _mixed(flat, down.fraction).view(batch, count, wanted, channels)


class _Taps(NamedTuple):
    """Weights as tensors. One call finds both neighbours: threads wait for each other at calls."""

    places: Any  # all lower ones, then all upper ones
    fraction: Any


@lru_cache(maxsize=256)
def _taps(parts: Weights, device: Any, dtype: Any, channels: int = 1) -> _Taps:
    """Weights for rows of numbers that are columns of so many channels."""
    columns = np.stack([parts.lower, parts.upper])[..., None] * channels
    places = torch.from_numpy((columns + np.arange(channels)).reshape(-1))
    fraction = torch.from_numpy(np.repeat(parts.fraction, channels))
    return _Taps(places.to(device), fraction.to(device, dtype))


def _mixed(neighbours: Any, fraction: Any) -> torch.Tensor:
    """Interpolate between numbers of the first half of the second axis and those of the other."""
    if neighbours.dim() > 2:
        fraction = fraction[:, None]
    start, end = neighbours.chunk(2, 1)
    return end.sub_(start).mul_(fraction).add(start)  # in one call it would be rounded otherwise


def interpolate_integers(image: Any, rows: Weights, columns: Weights, bits: int) -> torch.Tensor:
    """Return the same in integers, for weights from `along`; divisions drop the remainder."""
    one = 1 << bits
    top, bottom = image[:, rows.lower], image[:, rows.upper]

    def across(part: Any) -> torch.Tensor:
        left, right = part[:, :, columns.lower], part[:, :, columns.upper]
        return left * one + (right - left) * columns.fraction

    def divide(values: Any) -> torch.Tensor:
        return torch.div(values, one, rounding_mode="trunc")

    start = across(top)
    return divide(start + divide(across(bottom) - start) * rows.fraction + one // 2)
