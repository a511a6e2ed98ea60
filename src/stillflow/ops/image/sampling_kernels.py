"""Kernels of image resampling, and the taps that they give."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from stillflow.ops.image.taps import Taps

_PI = np.float32(3.14159265359)


class Kernel(NamedTuple):
    """A symmetric function of distances in pixels, which is 0 beyond a radius."""

    radius: float
    weight: Callable[[np.ndarray], np.ndarray]


def _lanczos(radius: int, x: np.ndarray) -> np.ndarray:
    r, safe = np.float32(radius), np.where(x <= 1e-3, np.float32(1), x)
    value = r * np.sin(_PI * safe) * np.sin(_PI * safe / r) / (_PI * _PI * safe * safe)
    return np.where(x > r, np.float32(0), np.where(x <= 1e-3, np.float32(1), value))


def _gaussian(x: np.ndarray) -> np.ndarray:
    value = np.exp(-x * x / np.float64(0.5)).astype(np.float32)  # the deviation is half a pixel
    return np.where(x >= 1.5, np.float32(0), value)


def _box(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.5, np.float32(1), np.where(x == 0.5, np.float32(0.5), np.float32(0)))


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.where(x < 1, np.float32(1) - x, np.float32(0))


def _cubic(near: tuple[float, ...], far: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """Polynomials below 1 and below 2; coefficients from the third power down."""
    inner, outer = (
        ((np.float32(c[0]) * x + np.float32(c[1])) * x + np.float32(c[2])) * x + np.float32(c[3])
        for c in (near, far)
    )
    return np.where(x >= 2, np.float32(0), np.where(x >= 1, outer, inner))


KERNELS = {
    **{f"lanczos{radius}": Kernel(radius, partial(_lanczos, radius)) for radius in (1, 3, 5)},
    "gaussian": Kernel(1.5, _gaussian),
    "box": Kernel(1, _box),
    "triangle": Kernel(1, _triangle),
    "keyscubic": Kernel(2, partial(_cubic, (1.5, -2.5, 0, 1), (-0.5, 2.5, -4, 2))),
    "mitchellcubic": Kernel(
        2, partial(_cubic, (7 / 6, -2, 0, 8 / 9), (-7 / 18, 2, -10 / 3, 16 / 9))
    ),
}


@lru_cache(maxsize=64)
def sampled(
    size: int, wanted: int, scale: float, translation: float, kernel: str, antialias: bool
) -> Taps:
    """Return the taps of a dimension of `size` inputs that is scaled and moved to `wanted` outputs.

    One input becomes `scale` outputs; all move by `translation` outputs. `antialias` widens the
    kernel where several inputs become one output.
    """
    one, half = np.float32(1), np.float32(0.5)
    inverse = np.float32(1.0 / np.float64(scale))
    wide = max(inverse, one) if antialias else one
    radius = np.float32(KERNELS[kernel].radius) * wide
    place = (np.arange(wanted, dtype=np.float32) + half) * inverse - inverse * np.float32(
        translation
    )
    first = np.clip(np.ceil(place - radius - half), 0, size - 1).astype(np.int64)
    end = np.clip(np.floor(place + radius - half), 0, size - 1).astype(np.int64) + 1
    count = min(2 * math.ceil(radius) + 1, size)
    places = first + np.arange(count)[:, None]
    distance = np.abs((places.astype(np.float32) + half - place) * (one / wide))
    shares = np.where(places < end, KERNELS[kernel].weight(distance), np.float32(0))
    total = shares.sum(0, dtype=np.float32)
    usable = (np.abs(total) >= 1000 * np.finfo(np.float32).tiny) & (place >= 0) & (place <= size)
    shares = shares * np.where(usable, one / np.where(usable, total, one), np.float32(0))
    return Taps(np.clip(places, 0, size - 1), shares.astype(np.float32))
