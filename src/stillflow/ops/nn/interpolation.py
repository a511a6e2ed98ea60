"""Linear interpolation of images along height and width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.lazy import torch

_FEW = 16  # fewer channels than these are not worth copying pixel by pixel
_CACHED = 1 << 20  # so many numbers, a few times over, stay near the processor


@dataclass(frozen=True, eq=False)  # one is like another only if it is the same
class Weights:
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
    lower, upper = (torch.from_numpy(each).to(device) for each in (parts.lower, parts.upper))
    return Weights(lower, upper, torch.from_numpy(fraction).to(device).view(shape))


def interpolate(image: Any, rows: Weights, columns: Weights, dtype: Any = None) -> Any:
    """An image [batch, height, width, channels] at the weighted places.

    Args:
      dtype: of the result; that of the image by default.
    """
    batch, height, width, channels = image.shape
    count, wanted = len(rows.lower), len(columns.lower)
    dtype = dtype or image.dtype
    few = channels < _FEW
    line: tuple[int, ...] = (width * channels,) if few else (width, channels)
    down = _taps(rows, image.device, dtype)
    across = _taps(columns, image.device, dtype, channels if few else 1)
    # To find a row is cheap, to find a number in it is not.
    if count * (width + 2 * wanted) < 3 * height * wanted:
        flat = _rows_first(image.reshape(batch, height, width * channels), down, across, line)
    else:
        flat = _between(image.to(dtype).reshape(batch * height, *line), across)
        flat = _between(flat.view(batch, height, wanted * channels), down)
    return flat.view(batch, count, wanted, channels)


class _Taps(NamedTuple):
    """Weights as tensors. One call finds both neighbours: threads wait for each other at calls."""

    places: Any  # all lower ones, then all upper ones
    fraction: Any

    def part(self, first: int, end: int) -> _Taps:
        """Those of some of the outputs."""
        return _Taps(self.places.view(2, -1)[:, first:end].reshape(-1), self.fraction[first:end])


@lru_cache(maxsize=256)
def _taps(parts: Weights, device: Any, dtype: Any, channels: int = 1) -> _Taps:
    """Weights for rows of numbers that are columns of so many channels."""
    columns = np.stack([parts.lower, parts.upper])[..., None] * channels
    places = torch.from_numpy((columns + np.arange(channels)).reshape(-1))
    fraction = torch.from_numpy(np.repeat(parts.fraction, channels))
    return _Taps(places.to(device), fraction.to(device, dtype))


def _rows_first(image: Any, rows: _Taps, columns: _Taps, line: tuple[int, ...]) -> Any:
    """An image [batch, height, row], some rows of the result after the others."""
    batch, _, size = image.shape
    count = len(rows.fraction)
    at_once = max(1, _CACHED // max(1, size))
    if image.device.type != "cpu" or count <= at_once:
        return _between(_between(image, rows).view(batch * count, *line), columns)
    shape = (batch, count, len(columns.fraction), *line[1:])
    result = torch.empty(shape, dtype=rows.fraction.dtype)
    for number in range(batch):
        for first in range(0, count, at_once):
            some = rows.part(first, first + at_once)
            flat = _between(image[number : number + 1], some).view(-1, *line)
            _between(flat, columns, result[number, first : first + at_once])
    return result


def _between(values: Any, taps: _Taps, out: Any = None) -> Any:
    """What lies between neighbours along the second axis."""
    places, fraction = taps
    found = values.index_select(1, places).to(fraction.dtype)
    if values.dim() > 2:
        fraction = fraction[:, None]
    start, end = found.chunk(2, 1)
    return torch.lerp(start, end, fraction, out=out)


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
