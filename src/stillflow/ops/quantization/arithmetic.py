"""Addition and multiplication of quantized numbers; results have 32 bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.kernels import torch_type
from stillflow.ops.linalg.matmul import mat_mul_shape
from stillflow.ops.math.broadcasting import broadcast_shape
from stillflow.ops.nn.bias import bias_shape
from stillflow.ops.quantization import scales
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import (
    QUANTIZED,
    Range,
    levels,
    numbers,
    product_range,
    quantize_number,
    quantize_unclamped,
    scalar,
)
from stillflow.ops.samples import Bad, Sample, Samples

_PAIR = f"""
    T1: {QUANTIZED}
    T2: {QUANTIZED}
"""
_RESULT = f"Toutput: {QUANTIZED} = qint32"


def to_result(values: Any, dtype: DType) -> torch.Tensor:
    """64-bit integers or integral doubles in a result's type: 32 bits wrap, fewer saturate."""
    if values.dtype in (torch.int32, torch.float32) and dtype == dtypes.qint32:
        return values.to(torch.int32)
    whole = values.to(torch.int64)
    if dtype != dtypes.qint32:
        lowest, highest, _ = levels(dtype)
        whole = whole.clamp_(lowest, highest)
    return whole.to(torch_type(dtype))


def centred(values: Any, given: Range, kind: Any) -> torch.Tensor:
    """Integers counted from the one that stands for zero, as the fractions of `products_in`."""
    return values.to(kind).sub_(quantize_unclamped(0.0, *given))


def products_in(count: int, *given: Range) -> Any:
    """Return the narrowest type in which sums of `count` products are exact."""
    largest = count
    for each in given:
        zero = quantize_unclamped(0.0, *each)
        largest *= max(abs(end - zero) for end in levels(each.dtype)[:2])
    return torch.float32 if largest <= 1 << 24 else torch.float64


def _centred_in_32_bits(values: Any, given: Range) -> torch.Tensor:
    zero = (quantize_unclamped(0.0, *given) + (1 << 31)) % (1 << 32) - (1 << 31)
    return values.to(torch.int32).sub_(zero)


def product_ends(a: Range, b: Range, dtype: DType, like: Any) -> tuple[Any, Any]:
    """Return the range of products as tensors."""
    low, high = product_range(a, b, dtype)
    return scalar(low, like), scalar(high, like)


def _ranges(types: Any, ends: Any) -> tuple[Range, Range]:
    low_a, high_a, low_b, high_b = numbers(*ends)
    return Range(low_a, high_a, types[0]), Range(low_b, high_b, types[1])


def _require_spans(ends: Any, *messages: str) -> None:
    low_a, high_a, low_b, high_b = numbers(*ends)
    for low, high, message in ((low_a, high_a, messages[0]), (low_b, high_b, messages[1])):
        if not high > low:
            raise ValueError(message)


def _types(node: Node) -> tuple[DType, DType, DType]:
    result = node.op.attrs.get("Toutput") or node.out_type
    return node.T1, node.T2, result


# --- QuantizedAdd, QuantizedMul -------------------------------------------------------------

quantized_add_op = op(
    f"""
    QuantizedAdd(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float)
        -> (z: Toutput, min_z: float, max_z: float)
    {_PAIR} {_RESULT}
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_add_op.shape
def quantized_add_shape(node: Node) -> OutputDims:
    result = broadcast_shape(node)
    scalars(node, 2, 3, 4, 5)
    return [result, (), ()]


def _in_range_of_sum(values: Any, given: Range, total: Range) -> torch.Tensor:
    """Integers in the sum's range.

    A single number is moved there by itself; many are moved on the line through the first two,
    which is where TF's results come from.
    """
    if values.numel() == 1:
        real = scales.dequantize_number(int(values), *given)
        return torch.full_like(values, quantize_number(real, *total), dtype=torch.int64)
    at_0, at_1 = (
        quantize_unclamped(scales.dequantize_number(code, *given), *total) for code in (0, 1)
    )
    lowest, highest, _ = levels(total.dtype)
    ends = [at_0 + (at_1 - at_0) * end for end in levels(given.dtype)[:2]]
    if lowest <= min(ends) and max(ends) <= highest and max(map(abs, ends)) < 1 << 29:
        return values.to(torch.int32).mul_(at_1 - at_0).add_(at_0)
    return values.to(torch.int64).mul_(at_1 - at_0).add_(at_0).clamp_(lowest, highest)


def _add(x: Any, y: Any, *rest: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    *ends, types = rest
    _require_spans(ends, "max_x must be larger than min_x.", "max_y must be larger than min_y.")
    a, b = _ranges(types, ends)
    # Symmetric around zero, with room for the sum.
    end = scales.largest(min(a.low, b.low), max(a.high, b.high)) * np.float32(1 << 14)
    total = Range(-end, end, types[2])
    result = _in_range_of_sum(x, a, total) + _in_range_of_sum(y, b, total)
    return to_result(result, types[2]), scalar(-end, ends[0]), scalar(end, ends[0])


@quantized_add_op.kernel
def quantized_add_kernel(node: Node) -> Kernel:
    return node.call(_add, *node.inputs, _types(node))


def _pairs() -> Iterator[tuple[Any, Any]]:
    kind = dtypes.quint8
    yield quantized(kind, 3, 4), quantized(kind, 3, 4)[::-1]
    yield quantized(kind, 3, 4), quantized(kind, 4)
    yield quantized(kind, 3), quantized(kind, 2, 2, 3)
    yield quantized(kind, 3, 4), quantized(kind, 3)[1:2]
    yield quantized(kind, 3)[1], quantized(kind, 7)


_ENDS = (-3.3, 8.1, -0.7, 1.9)


@quantized_add_op.samples
def quantized_add_samples() -> Samples:
    for x, y in _pairs():
        yield Sample(x, y, *floats(*_ENDS))
    x = quantized(dtypes.quint8, 3)
    yield Bad(x, x, *floats(1, 1, 0, 1), match="max_x must be larger than min_x.")
    yield Bad(x, x, *floats(0, 1, 1, 1), match="max_y must be larger than min_y.")
    yield Bad(x, x[:2], *floats(*_ENDS), match="must be equal|Incompatible shapes")
    yield Bad(x, x, np.zeros(1, np.float32), *floats(1, 0, 1), match="must be rank 0")


quantized_mul_op = op(
    f"""
    QuantizedMul(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float)
        -> (z: Toutput, min_z: float, max_z: float)
    {_PAIR} {_RESULT}
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_mul_op.shape
def quantized_mul_shape(node: Node) -> OutputDims:
    return [broadcast_shape(node), (), ()]


def _multiply(x: Any, y: Any, *rest: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    *ends, types = rest
    _require_spans(ends, "max_x must be larger than min_a.", "max_x must be larger than min_b.")
    a, b = _ranges(types, ends)
    if types[2] == dtypes.qint32:  # which wraps, as products of 32 bits do
        result = _centred_in_32_bits(x, a).mul(_centred_in_32_bits(y, b))
    else:
        result = to_result(centred(x, a, torch.float64) * centred(y, b, torch.float64), types[2])
    return (result, *product_ends(a, b, types[2], ends[0]))


@quantized_mul_op.kernel
def quantized_mul_kernel(node: Node) -> Kernel:
    return node.call(_multiply, *node.inputs, _types(node))


@quantized_mul_op.samples
def quantized_mul_samples() -> Samples:
    for x, y in _pairs():
        yield Sample(x, y, *floats(*_ENDS))
    x = quantized(dtypes.quint8, 3)
    yield Bad(x, x, *floats(1, 1, 0, 1), match="max_x must be larger than min_a.")
    yield Bad(x, x[:2], *floats(*_ENDS), match="must be equal|Incompatible shapes")


# --- QuantizedMatMul ------------------------------------------------------------------------

quantized_mat_mul_op = op(
    f"""
    QuantizedMatMul(a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float)
        -> (out: Toutput, min_out: float, max_out: float)
    {_PAIR} {_RESULT}
    transpose_a: bool = false
    transpose_b: bool = false
    Tactivation: {QUANTIZED} = quint8
""",
    devices="host",
    cost=Cost("unknown"),
    latency="long",
)


@quantized_mat_mul_op.shape
def quantized_mat_mul_shape(node: Node) -> OutputDims:
    result = mat_mul_shape(node)
    scalars(node, 2, 3, 4, 5)
    return [result, (), ()]


def _matrix_product(a: Any, b: Any, *rest: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    *ends, types, transpose_a, transpose_b = rest
    _require_spans(ends, "max_a must be larger than min_a.", "max_b must be larger than min_b.")
    first, second = _ranges(types, ends)
    kind = products_in(a.shape[0 if transpose_a else 1], first, second)
    left, right = centred(a, first, kind), centred(b, second, kind)
    product = (left.T if transpose_a else left) @ (right.T if transpose_b else right)
    return (to_result(product, types[2]), *product_ends(first, second, types[2], ends[0]))


@quantized_mat_mul_op.kernel
def quantized_mat_mul_kernel(node: Node) -> Kernel:
    how = (_types(node), node.transpose_a, node.transpose_b)
    return node.call(_matrix_product, *node.inputs, *how)


@quantized_mat_mul_op.samples
def quantized_mat_mul_samples() -> Samples:
    a, b = quantized(dtypes.quint8, 3, 4), quantized(dtypes.quint8, 4, 2)
    yield Sample(a, b, *floats(*_ENDS))
    yield Sample(a.reshape(4, 3), b, *floats(*_ENDS), transpose_a=True)
    yield Sample(a, b.reshape(2, 4), *floats(1, 2, -3, -2), transpose_b=True)
    yield Bad(a, b, *floats(1, 1, 0, 1), match="max_a must be larger than min_a.")
    yield Bad(a, a, *floats(*_ENDS), match="must be equal|size-incompatible")
    yield Bad(a[0], b, *floats(*_ENDS), match="must be rank 2|is not a matrix")


# --- QuantizedBiasAdd -----------------------------------------------------------------------

quantized_bias_add_op = op(
    f"""
    QuantizedBiasAdd(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float,
                     max_bias: float)
        -> (output: out_type, min_out: float, max_out: float)
    {_PAIR}
    out_type: {QUANTIZED}
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_bias_add_op.shape
def quantized_bias_add_shape(node: Node) -> OutputDims:
    result = bias_shape(node)
    scalars(node, 2, 3, 4, 5)
    return [result, (), ()]


def _add_bias(
    values: Any, bias: Any, *rest: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    *ends, types = rest
    a, b = _ranges(types, ends)
    # The results lie in the lower 15 bits: the others keep sums from overflowing.
    end = max(a.high, -a.low, b.high, -b.low) * np.float32(1 << 17)
    total = Range(-end, end, types[2])
    zero = quantize_number(0.0, *total)
    parts = [
        scales.requantize(part, given, total).to(torch.int64)
        for part, given in ((values, a), (bias, b))
    ]
    result = to_result(parts[0] + parts[1] + zero, types[2])
    return result, scalar(-end, ends[0]), scalar(end, ends[0])


@quantized_bias_add_op.kernel
def quantized_bias_add_kernel(node: Node) -> Kernel:
    return node.call(_add_bias, *node.inputs, _types(node))


@quantized_bias_add_op.samples
def quantized_bias_add_samples() -> Samples:
    for kind in (dtypes.quint8, dtypes.qint8):
        image, bias = quantized(kind, 2, 3, 4), quantized(kind, 4)
        yield Sample(image, bias, *floats(*_ENDS), out_type=dtypes.qint32)
        yield Sample(image[0], bias, *floats(0, 1, -20, 10), out_type=dtypes.qint32)
    given = {"out_type": dtypes.qint32}
    yield Bad(image, bias[:3], *floats(*_ENDS), **given, match="must be equal|as many biases")
    yield Bad(bias, bias, *floats(*_ENDS), **given, match="at least rank 2|at least 2D")
