"""Forms of operations on quantized numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.ops.nn.quantized import placed
from stillflow.ops.quantization.scales import levels
from stillflow_contrib.onnx_models import quantized_numbers as q
from stillflow_contrib.onnx_models.nodes import Nodes, form
from stillflow_contrib.onnx_models.quantized_numbers import Range, single


def _types(o: Nodes) -> tuple[Any, ...]:
    """Return the base types of the inputs and of the first output."""
    taken = [tensor.dtype.base_dtype for tensor in o.op._inputs]
    return (*taken, o.op._outputs[0].dtype.base_dtype)


def _scalar(o: Nodes, place: int) -> str:
    return str(o.Reshape(o.ins()[place], o.b.constant([], np.int64)))


def _range(o: Nodes, place: int, dtype: Any) -> Range:
    """Return the range whose ends are two inputs."""
    return Range(_scalar(o, place), _scalar(o, place + 1), dtype)


@form("QuantizeV2")
def quantize(o: Nodes) -> list[Any]:
    dtype, value = _types(o)[-1], o.x
    given = _range(o, 1, dtype)
    low = o.Min(single(0), given.low)
    apart = o.Div(o.Max(o.Max(single(1), o.Abs(given.low)), o.Abs(given.high)), single(100))
    high = o.Max(single(0), o.Max(given.high, o.Add(low, apart)))
    ends = Range(low, high, dtype)
    if o.a.mode == b"MIN_FIRST":
        return [q.quantize(o, value, ends), low, high]
    lowest, highest, steps = levels(dtype)
    if o.a.mode == b"SCALED":
        scale = q.scale_to_zero(o, low, high, dtype)
        low, high = o.Div(single(lowest), scale), o.Div(single(highest), scale)
        scaled = o.Mul(o.inside(value, low, high), scale)
        even = o.a.round_mode == b"HALF_TO_EVEN"
        made = o.Round(scaled) if even else q.rounded(o, scaled)
    else:
        width = q.double(o, o.Sub(high, low))
        scale = o.to(o.Div(np.float64(highest - lowest), width), "float32")
        made = o.Mul(o.Sub(o.inside(value, low, high), low), scale)
        if lowest:
            made = q.rounded(o, o.Sub(made, single(steps / 2)))
        else:
            made = o.Add(made, single(0.5))
    return [q.to_type(o, made, dtype), low, high]


@form("Dequantize")
def dequantize(o: Nodes) -> str:
    dtype = _types(o)[0]
    given = _range(o, 1, dtype)
    lowest, highest, steps = levels(dtype)
    if o.a.mode == b"MIN_FIRST":
        return q.dequantize(o, o.x, given)
    real = o.to(o.x, "float32")
    if o.a.mode == b"SCALED":
        scale = o.Div(given.high, single(highest))
        return str(o.Mul(real, o.Max(o.Div(given.low, single(lowest)), scale) if lowest else scale))
    scale = o.Div(o.Sub(given.high, given.low), o.Sub(single(highest), single(lowest)))
    if lowest:
        real = o.Add(real, single(steps / 2))
    return str(o.Add(o.Mul(real, scale), given.low))


def _used(o: Nodes, given: Range) -> tuple[str, str]:
    """Return the real numbers for the least value, at most 0, and the greatest value."""
    least, greatest = o.ReduceMin(o.x, keepdims=0), o.ReduceMax(o.x, keepdims=0)
    return o.Min(single(0), q.real_of(o, least, given)), q.real_of(o, greatest, given)


@form("RequantizationRange")
def requantization_range(o: Nodes) -> list[str]:
    return list(_used(o, _range(o, 1, _types(o)[0])))


@form("QuantizeDownAndShrinkRange")
def shrink(o: Nodes) -> list[str]:
    given = _range(o, 1, _types(o)[0])
    used = Range(*_used(o, given), _types(o)[-1])
    return [q.requantize(o, o.x, given, used), used.low, used.high]


@form("Requantize")
def requantize(o: Nodes) -> list[str]:
    target = _range(o, 3, _types(o)[-1])
    return [q.requantize(o, o.x, _range(o, 1, _types(o)[0]), target), target.low, target.high]


def _pair(o: Nodes) -> tuple[Range, Range]:
    return _range(o, 2, _types(o)[0]), _range(o, 4, _types(o)[1])


@form("QuantizedMatMul", "QuantizedMul")
def product(o: Nodes) -> list[str]:
    a, b = _pair(o)
    left, right = q.centred(o, o.x, a), q.centred(o, o.y, b)
    if o.op.type == "QuantizedMatMul":
        left = o.Transpose(left, perm=[1, 0]) if o.a.transpose_a else left
        right = o.Transpose(right, perm=[1, 0]) if o.a.transpose_b else right
        made = o.MatMul(left, right)
    else:
        made = o.Mul(left, right)
    result = _types(o)[-1]
    return [q.to_result(o, made, result), *q.product_ends(o, a, b, result)]


@form("QuantizedAdd")
def add(o: Nodes) -> list[str]:
    a, b = _pair(o)
    result = _types(o)[-1]
    end = o.Max(o.Abs(o.Min(a.low, b.low)), o.Abs(o.Max(a.high, b.high)))
    end = o.Mul(end, single(1 << 14))
    total = Range(o.Neg(end), end, result)
    made = o.Add(_moved(o, o.x, a, total), _moved(o, o.y, b, total))
    return [q.to_result(o, made, result), total.low, total.high]


def _moved(o: Nodes, value: str, given: Range, total: Range) -> str:
    """Return integers in the sum's range, on the line through the first two; one alone exactly."""
    lowest, highest, _ = (np.float64(each) for each in levels(total.dtype))
    first, second = (q.place_of(o, q.real_of(o, np.int64(code), given), total) for code in (0, 1))
    many = o.Add(o.Mul(q.double(o, value), o.Sub(second, first)), first)
    alone = q.place_of(o, q.real_of(o, value, given), total)
    is_one = o.Equal(o.Size(value), np.int64(1))
    return str(o.inside(o.Where(is_one, alone, many), lowest, highest))


@form("QuantizedBiasAdd")
def bias_add(o: Nodes) -> list[str]:
    a, b = _pair(o)
    result = _types(o)[-1]
    end = o.Max(o.Max(a.high, o.Neg(a.low)), o.Max(b.high, o.Neg(b.low)))
    end = o.Mul(end, single(1 << 17))
    total = Range(o.Neg(end), end, result)
    lowest, highest, _ = (np.float64(each) for each in levels(result))
    zero = o.inside(q.place_of(o, np.float64(0), total), lowest, highest)
    parts = [q.double(o, q.requantize(o, *each, total)) for each in ((o.x, a), (o.y, b))]
    return [q.to_result(o, o.Add(o.Add(*parts), zero), result), total.low, total.high]


@form("QuantizedRelu", "QuantizedRelu6", "QuantizedReluX")
def rectify(o: Nodes) -> list[str]:
    dtype = _types(o)[0]
    o.only(dtype == _types(o)[-1], "to another type")
    top: Any = single(6) if o.op.type == "QuantizedRelu6" else None
    given = _range(o, 1, dtype)
    if o.op.type == "QuantizedReluX":
        top, given = _scalar(o, 1), _range(o, 2, dtype)
    lowest, highest = (np.float64(each) for each in levels(dtype)[:2])
    bottom = o.inside(q.place_of(o, np.float64(0), given), lowest, highest)
    made = o.Max(q.double(o, o.x), bottom)
    if top is not None:
        made = o.Min(made, o.inside(q.place_of(o, top, given), lowest, highest))
    return [o.to(o.i64(made), dtype.name), given.low, given.high]


@form("QuantizedReshape")
def reshape(o: Nodes) -> list[str]:
    return [o.Reshape(o.x, o.i64(o.y)), o.z, o.w]


@form("QuantizedMaxPool", "QuantizedAvgPool")
def pool(o: Nodes) -> list[str]:
    dtype = _types(o)[0]
    o.only(dtype in (dtypes.quint8, dtypes.qint8), "of other types")
    image = o.Transpose(o.to(o.x, "float32"), perm=[0, 3, 1, 2])
    window: dict[str, Any] = {
        "kernel_shape": list(o.a.ksize)[1:3], "strides": list(o.a.strides)[1:3],
        "auto_pad": "VALID" if o.a.padding == b"VALID" else "SAME_UPPER",
    }  # fmt: skip
    if o.op.type == "QuantizedMaxPool":
        made = o.MaxPool(image, **window)
    else:
        made = q.whole(o, o.Add(o.AveragePool(image, **window), single(1e-6)))
    return [q.to_type(o, o.Transpose(made, perm=[0, 2, 3, 1]), dtype), o.y, o.z]


@form("QuantizedConv2D")
def convolution(o: Nodes) -> list[str]:
    a, b = _pair(o)
    result = _types(o)[-1]
    o.only({a.dtype, b.dtype} == {dtypes.quint8}, "of other types")
    dims, sizes = o.sizes(o.op._inputs[0], 1, 3), o.sizes(o.op._inputs[1])
    stride = o.a.strides[1]
    pads = [placed(dims[i], sizes[i], stride, o.a.padding) for i in range(2)]
    image = o.Transpose(o.x, perm=[0, 3, 1, 2])
    cut = [[max(-pads[i][side], 0) for i in range(2)] for side in range(2)]
    ends = [dims[i] - cut[1][i] for i in range(2)]
    image = o.Slice(image, cut[0], ends, [2, 3])
    zeros = [
        o.to(o.inside(q.place_of(o, np.float64(0), each), np.float64(0), np.float64(255)), "uint8")
        for each in (a, b)
    ]
    sums = o.ConvInteger(
        image, o.Transpose(o.y, perm=[3, 2, 0, 1]), *zeros, strides=[stride] * 2,
        pads=[max(pads[i][side], 0) for side in range(2) for i in range(2)],
    )  # fmt: skip
    made = o.Transpose(sums, perm=[0, 2, 3, 1])
    return [q.to_result(o, made, result), *q.product_ends(o, a, b, result)]
