"""Sliding windows in plain numpy, one window after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def places(size: int, window: int, stride: int, padding: str, rate: int = 1) -> list[list[int]]:
    """Return the inputs that each window sees along one dimension; those in the padding are -1."""
    reach = (window - 1) * rate + 1
    before = 0
    count = (size - reach) // stride + 1
    if padding == "SAME":
        count = -(-size // stride)
        before = max(0, (count - 1) * stride + reach - size) // 2
    seen = []
    for index in range(count):
        start = index * stride - before
        seen.append([at if 0 <= at < size else -1 for at in range(start, start + reach, rate)])
    return seen


def windows(
    image: np.ndarray, size: tuple[int, int], stride: int, padding: str, rate: int, fill: float
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Each window [batch, height, width, channels] of an NHWC image, and the output it makes."""
    wide = np.pad(image, [(0, 0), (0, 1), (0, 1), (0, 0)], constant_values=fill)
    rows = places(image.shape[1], size[0], stride, padding, rate)
    columns = places(image.shape[2], size[1], stride, padding, rate)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            yield (i, j), wide[:, row][:, :, column]


def slide(image, size, stride, padding, function, channels, rate=1, fill=0.0) -> np.ndarray:
    """Apply `function` to every window."""
    found = {at: function(part) for at, part in windows(image, size, stride, padding, rate, fill)}
    rows, columns = (max(at[axis] for at in found) + 1 for axis in range(2))
    result = np.zeros((len(image), rows, columns, channels), np.float64)
    for (i, j), value in found.items():
        result[:, i, j] = value
    return result
