"""Moving quantized numbers to another range and type."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import (
    QUANTIZED,
    Range,
    dequantize_number,
    levels,
    number,
    requantize,
    scalar,
)
from stillflow.ops.samples import Bad, Sample, Samples

_INPUT = f"Tinput: {QUANTIZED}"
_BOTH = f"{_INPUT}\n out_type: {QUANTIZED}"


def _used(values: Any, given: Range) -> tuple[Any, Any]:
    """Return the real numbers for the least value, at most 0, and the greatest value."""
    lowest, highest, _ = levels(given.dtype)
    least, greatest = highest, lowest
    if values.numel():
        least, greatest = (bound.item() for bound in values.aminmax())
    low = dequantize_number(least, *given)
    return min(np.float32(0), low), dequantize_number(greatest, *given)


requantize_op = op(
    f"""
    Requantize(input: Tinput, input_min: float, input_max: float, requested_output_min: float,
               requested_output_max: float)
        -> (output: out_type, output_min: float, output_max: float)
    {_BOTH}
""",
    devices="host",
)


@requantize_op.shape
def requantize_shape(node: Node) -> OutputDims:
    scalars(node, 1, 2, 3, 4)
    return [node.dims(0), (), ()]


def _requantize(
    values: Any, low: Any, high: Any, to_low: Any, to_high: Any, source: DType, target: DType
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    asked = Range(number(to_low), number(to_high), target)
    if not asked.low <= 0:
        raise ValueError(f"requested_output_min must be <= 0, but got {asked.low:g}")
    if not asked.high >= asked.low:
        raise ValueError(
            "requested_output_max must be >= requested_output_min, but got "
            f"{asked.high:g} and {asked.low:g}"
        )
    result = requantize(values, Range(number(low), number(high), source), asked)
    return result, scalar(asked.low, low), scalar(asked.high, high)


@requantize_op.kernel
def requantize_kernel(node: Node) -> Kernel:
    return node.call(_requantize, *node.inputs, node.Tinput, node.out_type)


@requantize_op.samples
def requantize_samples() -> Samples:
    values = quantized(dtypes.qint32, 4, 6)
    for dtype in (dtypes.quint8, dtypes.qint8):
        yield Sample(values, *floats(-3.3, 8.1, -2.2, 7.4), out_type=dtype)
        yield Sample(values, *floats(-900, 900, 0, 1), out_type=dtype)
        yield Sample(values, *floats(-1, 1, 0, 0), out_type=dtype)
    ends = {"out_type": dtypes.quint8}
    yield Bad(values, *floats(-1, 1, 1, 2), **ends, match="requested_output_min must be <= 0")
    yield Bad(values, *floats(-1, 1, -1, -2), **ends, match="but got -2 and -1")
    yield Bad(values, np.ones(1, np.float32), *floats(1, 1, 2), **ends, match="must be rank 0")


requantization_range_op = op(
    f"""
    RequantizationRange(input: Tinput, input_min: float, input_max: float)
        -> (output_min: float, output_max: float)
    {_INPUT}
""",
    devices="host",
)


@requantization_range_op.shape
def requantization_range_shape(node: Node) -> OutputDims:
    scalars(node, 1, 2)
    return [(), ()]


def _range_of(values: Any, low: Any, high: Any, dtype: DType) -> tuple[torch.Tensor, torch.Tensor]:
    used = _used(values, Range(number(low), number(high), dtype))
    return scalar(used[0], low), scalar(used[1], high)


@requantization_range_op.kernel
def requantization_range_kernel(node: Node) -> Kernel:
    return node.call(_range_of, *node.inputs, node.Tinput)


@requantization_range_op.samples
def requantization_range_samples() -> Samples:
    values = quantized(dtypes.qint32, 9)
    yield Sample(values[2:6], *floats(-3.3, 8.1))
    yield Sample(values[7:], *floats(-3.3, 8.1))
    yield Bad(values, np.ones(1, np.float32), np.float32(1), match="must be rank 0")


quantize_down_and_shrink_range_op = op(
    f"""
    QuantizeDownAndShrinkRange(input: Tinput, input_min: float, input_max: float)
        -> (output: out_type, output_min: float, output_max: float)
    {_BOTH}
""",
    devices="host",
)


@quantize_down_and_shrink_range_op.shape
def quantize_down_and_shrink_range_shape(node: Node) -> OutputDims:
    scalars(node, 1, 2)
    return [node.dims(0), (), ()]


def _shrink(
    values: Any, low: Any, high: Any, source: DType, target: DType
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    given = Range(number(low), number(high), source)
    used = Range(*_used(values, given), target)
    return requantize(values, given, used), scalar(used.low, low), scalar(used.high, high)


@quantize_down_and_shrink_range_op.kernel
def quantize_down_and_shrink_range_kernel(node: Node) -> Kernel:
    return node.call(_shrink, *node.inputs, node.Tinput, node.out_type)


@quantize_down_and_shrink_range_op.samples
def quantize_down_and_shrink_range_samples() -> Samples:
    values = quantized(dtypes.qint32, 16)
    yield Sample(values[3:10], *floats(-3.3, 8.1), out_type=dtypes.quint8)
    yield Sample(values[9:13].reshape(2, 2), *floats(-30, 20), out_type=dtypes.quint8)
    kind = {"out_type": dtypes.quint8}
    yield Bad(values, np.ones(1, np.float32), np.float32(1), **kind, match="must be rank 0")
