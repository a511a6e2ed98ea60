"""Quantized numbers as integers, with the scalars that their ends stand for.

Scales are computed in the same precision and order as by the operations' kernels: one unit in the
last place may move a rounded result to the next integer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.ops.quantization.scales import FLOAT_MAX, levels
from stillflow_contrib.onnx_models.nodes import Nodes

_ONE = 1 << 16


class Range(NamedTuple):
    """Ends of a quantized type: names of two float32 scalars, and the type."""

    low: str
    high: str
    dtype: Any


def single(value: float) -> np.float32:
    """Return a number as a constant of single precision."""
    return np.float32(value)


def double(o: Nodes, value: Any) -> str:
    """Return a value in double precision."""
    return str(o.to(value, "float64"))


def whole(o: Nodes, value: str) -> str:
    """Return numbers without their fractions."""
    return str(o.Mul(o.Sign(value), o.Floor(o.Abs(value))))


def rounded(o: Nodes, value: str, kind: Any = np.float32) -> str:
    """Return the nearest integers; halves away from zero."""
    cut = whole(o, value)
    return str(o.Add(cut, whole(o, o.Mul(o.Sub(value, cut), kind(2)))))


def _span(o: Nodes, given: Range) -> str:
    """Return the width of a range in double precision, 1 where it is empty."""
    span = double(o, o.Sub(given.high, given.low))
    return str(o.Where(o.Equal(span, np.float64(0)), np.float64(1), span))


def to_type(o: Nodes, value: str, dtype: Any) -> str:
    """Return integral numbers as integers of a quantized type."""
    return str(o.to(o.to(value, "int32"), dtype.name))


def quantize(o: Nodes, value: str, given: Range) -> str:
    """Return float32 numbers as integers."""
    lowest, highest, steps = levels(given.dtype)
    is_empty = o.Equal(given.low, given.high)
    scale = o.to(o.Div(np.float64(steps - 1.0), _span(o, given)), "float32")
    scale = o.Where(is_empty, single(0), scale)
    start = o.Sub(rounded(o, o.Mul(given.low, scale)), single(lowest))
    scaled = o.Sub(rounded(o, o.Mul(value, scale)), start)
    top = single(min(float(highest), 2147483520.0))
    return to_type(o, o.inside(scaled, single(lowest), top), given.dtype)


def dequantize(o: Nodes, value: str, given: Range) -> str:
    """Return integers as float32 numbers."""
    lowest, _, steps = levels(given.dtype)
    width = double(o, o.Sub(given.high, given.low))
    scale = o.to(o.Div(width, np.float64(steps - 1.0)), "float32")
    start = o.Mul(rounded(o, o.Div(given.low, scale)), scale)
    start = o.Where(o.Equal(given.low, given.high), given.low, start)
    offset = o.Sub(start, o.Mul(single(lowest), scale))
    return str(o.Add(o.Mul(o.to(value, "float32"), scale), offset))


def real_of(o: Nodes, value: Any, given: Range) -> str:
    """Return the real numbers, float32, that single integers stand for."""
    lowest, _, steps = levels(given.dtype)
    width = double(o, o.Sub(given.high, given.low))
    scale = o.Div(o.Mul(width, np.float64(steps / (steps - 1.0))), np.float64(steps))
    narrow = o.to(scale, "float32")
    start = o.Mul(rounded(o, double(o, o.Div(given.low, narrow)), np.float64), double(o, narrow))
    places = o.Sub(double(o, value), np.float64(lowest))
    found = o.to(o.Add(start, o.Mul(places, scale)), "float32")
    return str(o.Where(o.Equal(given.low, given.high), given.low, found))


def place_of(o: Nodes, value: Any, given: Range) -> str:
    """Return the integers, float64, that stand for real numbers, maybe outside of the type."""
    lowest, _, steps = levels(given.dtype)
    scale = o.Div(np.float64(steps), o.Mul(_span(o, given), np.float64(steps / (steps - 1.0))))
    found = rounded(o, o.Mul(double(o, value), scale), np.float64)
    first = rounded(o, o.Mul(double(o, given.low), scale), np.float64)
    found = o.Add(o.Sub(found, first), np.float64(lowest))
    return str(o.Where(o.Equal(given.low, given.high), np.float64(lowest), found))


def centred(o: Nodes, value: str, given: Range) -> str:
    """Return integers counted from the one that stands for zero, float64."""
    return str(o.Sub(double(o, value), place_of(o, np.float64(0), given)))


def to_result(o: Nodes, value: str, dtype: Any) -> str:
    """Return integral numbers in a result's type: 32 bits wrap, fewer saturate."""
    found = o.i64(value)
    if dtype.name != "qint32":
        lowest, highest, _ = levels(dtype)
        found = o.inside(found, np.int64(lowest), np.int64(highest))
    return str(o.to(found, dtype.name))


def product_ends(o: Nodes, a: Range, b: Range, dtype: Any) -> list[str]:
    """Return the ends of the range of sums of products."""
    units = []
    for each in (a, b):
        lowest, highest, _ = levels(each.dtype)
        units.append(o.Div(o.Sub(each.high, each.low), single(highest - lowest)))
    unit = o.Mul(*units)
    lowest, highest, _ = levels(dtype)
    return [o.Mul(unit, single(lowest)), o.Mul(unit, single(highest))]


def requantize(o: Nodes, value: str, source: Range, target: Range) -> str:
    """Return integers in one range as integers in another."""
    if (source.dtype.name, target.dtype.name) == ("qint32", "quint8"):
        return _down_to_bytes(o, value, source, target)
    return quantize(o, dequantize(o, value, source), target)


def _down_to_bytes(o: Nodes, value: str, source: Range, target: Range) -> str:
    """Convert 32 bits to 8 in fixed-point arithmetic with 16 fractional bits."""
    span = _span(o, target)
    width = double(o, o.Sub(source.high, source.low))
    scale = o.i64(o.Div(o.Mul(np.float64(255.0 * _ONE), width), span))
    middle = o.to(o.Div(double(o, o.Add(source.low, source.high)), np.float64(2)), "float32")
    step = o.to(o.Div(np.float64(255), span), "float32")
    offset = o.i64(o.Mul(o.Mul(middle, step), single(_ONE)))
    start = o.Mul(np.float64(_ONE), o.Mul(double(o, target.low), np.float64(255)))
    offset = o.Sub(offset, o.i64(o.Div(start, span)))
    is_empty = o.Equal(target.low, target.high)
    scale, offset = (o.Where(is_empty, np.int64(0), each) for each in (scale, offset))
    fixed = _shifted(o, o.Mul(o.i64(value), scale), 32)
    fixed = _shifted(o, o.Add(fixed, o.Add(offset, np.int64(_ONE // 2))), 16)
    return str(o.to(o.inside(fixed, np.int64(0), np.int64(255)), "uint8"))


def _shifted(o: Nodes, value: str, bits: int) -> str:
    """Return integers divided by a power of two, rounded down."""
    unit = np.int64(1 << bits)
    return str(o.Div(o.Sub(value, o.Mod(value, unit)), unit))


def scale_to_zero(o: Nodes, low: str, high: str, dtype: Any) -> str:
    """Return the scale that keeps zero at zero: the end that needs the coarser one decides."""
    found = []
    for bound, end in zip(levels(dtype)[:2], (low, high), strict=True):
        first = single(bound)
        usable = o.Greater(o.Mul(first, end), single(0))
        safe = o.Where(usable, end, single(1))
        found.append(o.Where(usable, o.Div(first, safe), FLOAT_MAX))
    return str(o.Min(*found))
