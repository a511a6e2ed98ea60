"""Resizing as weighted sums: which inputs each output takes along one dimension, and how much."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch

_TABLE = 1 << 10  # steps between two pixels at which cubic weights are tabulated
_MANY = 12  # so many taps are summed faster by a matrix product


class _NativeTaps(ctypes.Structure):
    """`Taps` of native/taps.c."""

    _fields_ = [("places", ctypes.c_void_p), ("shares", ctypes.c_void_p),
                ("taps", ctypes.c_int64), ("outputs", ctypes.c_int64)]  # fmt: skip


class Taps(NamedTuple):
    """Taps of one dimension: `places` (int64) and `shares` (float32), each [taps, outputs]."""

    places: np.ndarray
    shares: np.ndarray


def scale_of(size: int, wanted: int, align_corners: bool) -> np.float32:
    """Return the number of inputs per step between outputs."""
    if align_corners and wanted > 1:
        return np.float32(np.float32(size - 1) / np.float32(wanted - 1))
    return np.float32(np.float32(size) / np.float32(wanted))


def positions(scale: np.float32, count: int, half_pixel_centers: bool) -> np.ndarray:
    """Return the places of outputs among the inputs, float32."""
    place = np.arange(count, dtype=np.float32)
    half = np.float32(0.5)
    return (place + half) * scale - half if half_pixel_centers else place * scale


def nearest(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Return the input next to each output."""
    place = np.arange(wanted, dtype=np.float32)
    if half_pixel_centers:
        place = place + np.float32(0.5)
    place = place * scale_of(size, wanted, align_corners)
    whole = np.floor(place + np.float32(0.5)) if align_corners else np.floor(place)
    return np.clip(whole.astype(np.int64), 0, size - 1)


@lru_cache(maxsize=256)
def linear(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Two taps: the neighbours."""
    place = positions(scale_of(size, wanted, align_corners), wanted, half_pixel_centers)
    floor = np.floor(place)
    lower = np.maximum(floor, 0).astype(np.int64)
    upper = np.minimum(np.ceil(place), size - 1).astype(np.int64)
    fraction = place - floor
    return Taps(np.stack([lower, upper]), np.stack([np.float32(1) - fraction, fraction]))


@lru_cache(maxsize=2)
def _cubic_table(a: float) -> np.ndarray:
    """Weights of the two pixels on one side by their distance: [steps + 1, 2]."""
    x = (np.arange(_TABLE + 1) / _TABLE).astype(np.float32).astype(np.float64)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = (x + 1).astype(np.float32).astype(np.float64)
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([near, far], 1).astype(np.float32)


@lru_cache(maxsize=256)
def cubic(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Four taps. Half-pixel centres come with Keys' kernel and without pixels outside."""
    place = positions(scale_of(size, wanted, align_corners), wanted, half_pixel_centers)
    floor = np.floor(place)
    step = np.rint((place - floor) * np.float32(_TABLE)).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    shares = np.stack(
        [table[step, 1], table[step, 0], table[_TABLE - step, 0], table[_TABLE - step, 1]]
    )
    wished = floor.astype(np.int64) + np.arange(-1, 3)[:, None]
    places = np.clip(wished, 0, size - 1)
    if half_pixel_centers:
        shares = np.where(places == wished, shares, np.float32(0))
        total = shares.sum(0)
        usable = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
        shares = shares * np.where(usable, np.float32(1) / np.where(usable, total, 1), 1)
    return Taps(places, shares.astype(np.float32))


@lru_cache(maxsize=256)
def area(size: int, wanted: int, align_corners: bool) -> Taps:
    """Return one tap for each input that an output covers; its share is the covered part."""
    scale = scale_of(size, wanted, align_corners)
    start = np.arange(wanted, dtype=np.float32) * scale
    end = np.arange(1, wanted + 1, dtype=np.float32) * scale
    first = np.floor(start).astype(np.int64)
    last = np.ceil(end).astype(np.int64)
    wished = first + np.arange(max(1, int((last - first).max(initial=1))))[:, None]
    low, high = wished.astype(np.float32), (wished + 1).astype(np.float32)
    inside = np.where(high > end, end - low, np.float32(1))
    partly = np.where(high > end, scale, high - start)
    shares = np.where(low < start, partly, inside)
    shares = np.where(wished < last, shares, np.float32(0)).astype(np.float32)
    return Taps(np.clip(wished, 0, size - 1), shares)


def gather(x: Any, taps: Taps, axis: int) -> torch.Tensor:
    """Return weighted sums along an axis of [batch, height, width, channels], float32."""
    library = native.library()
    if library is not None and x.is_cpu:
        return _gather_by(library, x, taps, axis)
    x = x.to(torch.float32)
    places = torch.from_numpy(taps.places).to(x.device)
    shares = torch.from_numpy(taps.shares).to(x.device, x.dtype)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    if len(places) > _MANY:
        return _gather_many(x, places, shares, axis)
    total = None
    for place, share in zip(places, shares, strict=True):
        part = x.index_select(axis, place) * share.view(shape)
        total = part if total is None else total.add_(part)
    return total


def _gather_by(library: Any, x: Any, taps: Taps, axis: int) -> torch.Tensor:
    """Return the same by the loop in C."""
    if x.dtype is not torch.uint8:
        x = x.to(torch.float32)
    x = x.contiguous()
    sizes = list(x.shape)
    sizes[axis] = taps.places.shape[1]
    result = torch.empty(sizes, dtype=torch.float32)
    if result.numel():
        known = _NativeTaps(taps.places.ctypes.data, taps.shares.ctypes.data, *taps.places.shape)
        library.weighted_sums(
            x.data_ptr(), x.dtype is torch.uint8, math.prod(sizes[:axis]), x.shape[axis],
            math.prod(sizes[axis + 1 :]), ctypes.byref(known), result.data_ptr(),
            torch.get_num_threads(),
        )  # fmt: skip
    return result


def _gather_many(x: Any, places: Any, shares: Any, axis: int) -> torch.Tensor:
    matrix = torch.zeros(places.shape[1], x.shape[axis], dtype=x.dtype, device=x.device)
    rows = torch.arange(places.shape[1], device=x.device).expand_as(places)
    matrix.index_put_((rows, places), shares, accumulate=True)
    return torch.movedim(torch.tensordot(matrix, x, ([1], [axis])), 0, axis)


def scatter(grad: Any, taps: Taps, axis: int, size: int) -> torch.Tensor:
    """Return the transpose of `gather`: gradients of `size` inputs from those of the outputs."""
    places = torch.from_numpy(taps.places).to(grad.device)
    shares = torch.from_numpy(taps.shares).to(grad.device, grad.dtype)
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    sizes = list(grad.shape)
    sizes[axis] = size
    total = torch.zeros(sizes, dtype=grad.dtype, device=grad.device)
    for place, share in zip(places, shares, strict=True):
        total.index_add_(axis, place, grad * share.view(shape))
    return total
