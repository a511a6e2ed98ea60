"""Linear interpolation of images along height and width."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.lazy import torch

_FEW = 16  # fewer channels than these are not worth copying pixel by pixel
_CACHED = 80_000  # so many numbers, a few times over, stay near the processor


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
    rows, columns = (_tensors(parts, image.device, dtype) for parts in (rows, columns))
    # To find a row is cheap, to find a number in it is not.
    if count * (width + 2 * wanted) < 3 * height * wanted:
        flat = _rows_first(image.reshape(batch, height, width * channels), rows, columns, line)
    else:
        flat = _between(image.to(dtype).reshape(batch * height, *line), columns)
        flat = _between(flat.view(batch, height, wanted * channels), rows)
    return flat.view(batch, count, wanted, channels)


def _each_channel(columns: Weights, channels: int) -> Weights:
    """The weights along rows of numbers that are columns of so many channels."""
    lower, upper = (
        (places[:, None] * channels + np.arange(channels)).reshape(-1) for places in columns[:2]
    )
    return Weights(lower, upper, np.repeat(columns.fraction, channels))


def _tensors(parts: Weights, device: Any, dtype: Any) -> Weights:
    lower, upper, fraction = (torch.from_numpy(part).to(device) for part in parts)
    return Weights(lower, upper, fraction.to(dtype))


def _rows_first(image: Any, rows: Weights, columns: Weights, line: tuple[int, ...]) -> Any:
    """An image [batch, height, row], some rows of the result after the others."""
    batch, _, size = image.shape
    count = len(rows.lower)
    at_once = max(1, _CACHED // max(1, size))
    if image.device.type != "cpu" or count <= at_once:
        return _between(_between(image, rows).view(batch * count, *line), columns)
    shape = (batch, count, len(columns.lower), *line[1:])
    result = torch.empty(shape, dtype=rows.fraction.dtype)
    for number in range(batch):
        for first in range(0, count, at_once):
            some = Weights(*(part[first : first + at_once] for part in rows))
            flat = _between(image[number : number + 1], some).view(-1, *line)
            _between(flat, columns, result[number, first : first + at_once])
    return result


def _between(values: Any, parts: Weights, out: Any = None) -> Any:
    """What lies between neighbours along the second axis."""
    fraction = parts.fraction
    start, end = (values.index_select(1, p).to(fraction.dtype) for p in parts[:2])
    if values.dim() > 2:
        fraction = fraction[:, None]
    return start.lerp_(end, fraction) if out is None else torch.lerp(start, end, fraction, out=out)


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
