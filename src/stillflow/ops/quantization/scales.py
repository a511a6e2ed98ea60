"""Mapping of quantized numbers to real ones.

A quantized tensor is a tensor of integers with two scalars: the real numbers that the lowest
and the highest integer stand for. Scales are computed in the same precision and order as
TensorFlow's, since one unit in the last place may move a rounded result to the next integer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.kernels import torch_type

QUANTIZED = "{qint8, quint8, qint32, qint16, quint16}"
FLOAT_MAX = np.finfo(np.float32).max

_LIMITS = {
    dtypes.qint8: (-(1 << 7), (1 << 7) - 1),
    dtypes.quint8: (0, (1 << 8) - 1),
    dtypes.qint16: (-(1 << 15), (1 << 15) - 1),
    dtypes.quint16: (0, (1 << 16) - 1),
    dtypes.qint32: (-(1 << 31), (1 << 31) - 1),
}


class Levels(NamedTuple):
    """The integers of a quantized type.

    Attributes:
      lowest, highest: integers.
      steps: how many there are.
    """

    lowest: int
    highest: int
    steps: int


def levels(dtype: DType) -> Levels:
    """Return the integers of a quantized type."""
    lowest, highest = _LIMITS[dtype.base_dtype]
    return Levels(lowest, highest, highest - lowest + 1)


def number(value: Any) -> np.float32:
    """Return a run-time scalar (a tensor of one element)."""
    return np.float32(value.reshape(-1)[0].item())


def numbers(*values: Any) -> list[np.float32]:
    """Run-time scalars."""
    return [number(value) for value in values]


def scalar(value: Any, like: Any) -> torch.Tensor:
    """Return a single-precision scalar tensor on the device of `like`."""
    return torch.tensor(float(value), dtype=torch.float32, device=like.device)


def round_half_away(value: float) -> float:
    """Return the nearest integer; halves away from zero."""
    if not math.isfinite(value):
        return value
    whole = math.trunc(value)
    return float(whole + math.trunc((value - whole) * 2))


def round_half_away_(values: Any) -> torch.Tensor:
    """Round a tensor in place to the nearest integers, halves away from zero."""
    whole = values.trunc()
    return whole.add_(values.sub_(whole).mul_(2).trunc_())


def to_integers(values: Any, dtype: DType) -> torch.Tensor:
    """Integral floating-point numbers as a quantized type's integers."""
    return values.to(torch.int32).to(torch_type(dtype))


# --- one number -----------------------------------------------------------------------------


def quantize_unclamped(value: float | np.float32, low: Any, high: Any, dtype: DType) -> int:
    """Return the integer that stands for a real number, which may lie outside of the type."""
    lowest, _, steps = levels(dtype)
    if low == high:
        return lowest
    span = float(np.float32(high) - np.float32(low)) * (steps / (steps - 1.0))
    scale = steps / span
    return lowest + int(round_half_away(float(value) * scale) - round_half_away(float(low) * scale))


def quantize_number(value: float | np.float32, low: Any, high: Any, dtype: DType) -> int:
    """Return the integer that stands for a real number."""
    lowest, highest, _ = levels(dtype)
    return min(max(quantize_unclamped(value, low, high, dtype), lowest), highest)


@np.errstate(all="ignore")
def quantize_numbers(values: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Return the integers, int64, that an array of real numbers stands for, each by itself."""
    lowest, highest, steps = levels(dtype)
    if low == high:
        return np.full(np.shape(values), lowest)
    scale = steps / (float(np.float32(high) - np.float32(low)) * (steps / (steps - 1.0)))
    scaled = np.asarray(values, np.float64) * scale
    whole = np.trunc(scaled)
    whole += np.trunc((scaled - whole) * 2) - round_half_away(float(low) * scale)
    whole[~np.isfinite(whole)] = -np.inf  # as a processor makes them integers
    return np.clip(lowest + whole, lowest, highest).astype(np.int64)


def dequantize_number(value: Any, low: Any, high: Any, dtype: DType) -> np.float32:
    """Return the real number that an integer stands for, or those of an array of them."""
    if low == high:
        return np.float32(low)
    lowest, _, steps = levels(dtype)
    scale = float(np.float32(high) - np.float32(low)) * (steps / (steps - 1.0)) / steps
    single = np.float32(scale)
    start = round_half_away(float(np.float32(low) / single)) * float(single)
    return np.float32(start + (value - lowest) * scale)


# --- tensors --------------------------------------------------------------------------------


@np.errstate(all="ignore")
def quantize(values: Any, low: Any, high: Any, dtype: DType) -> torch.Tensor:
    """Single-precision numbers as integers of a quantized type."""
    lowest, highest, steps = levels(dtype)
    low, high = np.float32(low), np.float32(high)
    scale = np.float32(0 if low == high else (steps - 1.0) / float(high - low))
    start = np.float32(round_half_away(float(low * scale))) - np.float32(lowest)
    scaled = round_half_away_(values * float(scale)).sub_(float(start))
    # 2147483520 is the greatest single-precision number that is a 32-bit integer.
    return to_integers(scaled.clamp_(float(lowest), min(float(highest), 2147483520.0)), dtype)


@np.errstate(all="ignore")  # infinite ranges give NaN
def dequantize(values: Any, low: Any, high: Any, dtype: DType) -> torch.Tensor:
    """Integers of a quantized type as single-precision numbers."""
    lowest, _, steps = levels(dtype)
    low, high = np.float32(low), np.float32(high)
    scale = np.float32(float(high - low) / (steps - 1.0))
    start = low
    if low != high:
        start = np.float32(round_half_away(float(low / scale))) * scale
    offset = start - np.float32(lowest) * scale
    return values.to(torch.float32).mul_(float(scale)).add_(float(offset))


def requantize(values: Any, source: Range, target: Range) -> torch.Tensor:
    """Integers in one range as integers in another."""
    if source.dtype == dtypes.qint32 and target.dtype == dtypes.quint8:
        return _down_to_bytes(values, source, target)
    real = dequantize(values, source.low, source.high, source.dtype)
    return quantize(real, target.low, target.high, target.dtype)


class Range(NamedTuple):
    """The real numbers that the lowest and the highest integer of a type stand for."""

    low: np.float32
    high: np.float32
    dtype: DType


def _down_to_bytes(values: Any, source: Range, target: Range) -> torch.Tensor:
    """Convert 32 bits to 8 in fixed-point arithmetic with 16 fractional bits."""
    one = 1 << 16
    source_span, target_span = source.high - source.low, target.high - target.low
    scale = offset = 0
    if target_span != 0:
        middle = np.float32(float(source.low + source.high) / 2.0)
        scale = int(255.0 * one * float(source_span) / float(target_span))
        offset = int(middle * np.float32(255.0 / float(target_span)) * np.float32(one))
        offset -= int(one * (float(target.low) * 255.0) / float(target_span))
    if native_calls.reach(values) and max(abs(scale), abs(offset)) < 1 << 62:
        library: Any = native.library()
        found = torch.empty(values.shape, dtype=torch.uint8)
        library.narrow_to_bytes(
            values.data_ptr(), values.numel(), scale, offset + one // 2, found.data_ptr()
        )
        return found
    fixed = ((values.to(torch.int64) * scale) >> 32).add_(offset + one // 2) >> 16
    return fixed.clamp_(0, 255).to(torch.uint8)


# --- ranges of results ----------------------------------------------------------------------


def product_range(a: Range, b: Range, dtype: DType) -> tuple[np.float32, np.float32]:
    """Return the range of sums of products of two quantized numbers.

    One unit of the result is the product of a unit of `a` and a unit of `b`.
    """
    lowest, highest, _ = levels(dtype)
    unit = _unit(a) * _unit(b)
    return unit * np.float32(lowest), unit * np.float32(highest)


def _unit(given: Range) -> np.float32:
    lowest, highest, _ = levels(given.dtype)
    return (given.high - given.low) / np.float32(highest - lowest)


def largest(*bounds: Any) -> np.float32:
    """Return the largest of some bounds, sign aside."""
    return np.float32(max(abs(float(bound)) for bound in bounds))
