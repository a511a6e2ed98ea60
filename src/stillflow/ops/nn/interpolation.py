"""Linear interpolation of images along height and width."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.lazy import torch

_FEW = 16  # fewer channels than these are not worth copying pixel by pixel


class Weights(NamedTuple):
    """For each output along one dimension: its neighbours, and how far it is from the first."""

    lower: Any
    upper: Any
    fraction: Any


@lru_cache(maxsize=256)
def weights(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Weights:
    """Where the outputs along one dimension lie among the inputs.

    Args:
      size: how many inputs there are.
      wanted: how many outputs.
      align_corners: whether the outer outputs lie on the outer inputs.
      half_pixel_centers: whether pixels lie at 0.5, 1.5, ..., not at 0, 1, ...
    """
    one, half = np.float32(1), np.float32(0.5)
    scale = one * size / np.float32(wanted)
    if align_corners and wanted > 1:
        scale = one * (size - 1) / np.float32(wanted - 1)
    place = np.arange(wanted, dtype=np.float32)
    place = (place + half) * scale - half if half_pixel_centers else place * scale
    floor = np.floor(place)
    lower = np.maximum(floor, 0).astype(np.int64)
    upper = np.minimum(np.ceil(place), size - 1).astype(np.int64)
    return Weights(lower, upper, place - floor)


def along(parts: Weights, axis: int, device: Any, bits: int) -> Weights:
    """Weights as tensors that broadcast along one axis of an image, with fractions as integers.

    Args:
      bits: how many bits the fractions have.
    """
    fraction = (parts.fraction * np.float32(1 << bits)).astype(np.int64)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    lower, upper = (torch.from_numpy(places).to(device) for places in parts[:2])
    return Weights(lower, upper, torch.from_numpy(fraction).to(device).view(shape))


def interpolate(image: Any, rows: Weights, columns: Weights, dtype: Any = None) -> Any:
    """An image [batch, height, width, channels] at the weighted places.

    Args:
      dtype: of the result; that of the image by default.
    """
    batch, height, width, channels = image.shape
    count, wanted = len(rows.lower), len(columns.lower)
    dtype = dtype or image.dtype
    line: tuple[int, ...] = (width, channels)
    if channels < _FEW:
        columns, line = _each_channel(columns, channels), (width * channels,)
    # To find a row is cheap, to find a number in it is not.
    if count * (width + 2 * wanted) < 3 * height * wanted:
        flat = _between(image.reshape(batch, height, width * channels), rows, dtype)
        flat = _between(flat.view(batch * count, *line), columns, dtype)
    else:
        flat = _between(image.to(dtype).reshape(batch * height, *line), columns, dtype)
        flat = _between(flat.view(batch, height, wanted * channels), rows, dtype)
    return flat.view(batch, count, wanted, channels)


def _each_channel(columns: Weights, channels: int) -> Weights:
    """The weights along rows of numbers that are columns of so many channels."""
    lower, upper = (
        (places[:, None] * channels + np.arange(channels)).reshape(-1) for places in columns[:2]
    )
    return Weights(lower, upper, np.repeat(columns.fraction, channels))


def _between(values: Any, parts: Weights, dtype: Any) -> Any:
    """What lies between neighbours along the second axis."""
    lower, upper, fraction = (torch.from_numpy(part).to(values.device) for part in parts)
    start, end = (values.index_select(1, places).to(dtype) for places in (lower, upper))
    shape = (-1, 1) if values.dim() > 2 else (-1,)
    return start.lerp_(end, fraction.to(dtype).view(shape))


def interpolate_integers(image: Any, rows: Weights, columns: Weights, bits: int) -> Any:
    """The same in integers, for weights from `along`; divisions drop what is left over."""
    one = 1 << bits
    top, bottom = image[:, rows.lower], image[:, rows.upper]

    def across(part: Any) -> Any:
        left, right = part[:, :, columns.lower], part[:, :, columns.upper]
        return left * one + (right - left) * columns.fraction

    def divide(values: Any) -> Any:
        return torch.div(values, one, rounding_mode="trunc")

    start = across(top)
    return divide(start + divide(across(bottom) - start) * rows.fraction + one // 2)
