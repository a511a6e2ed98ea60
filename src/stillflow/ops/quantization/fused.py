"""Quantized ops that compute several steps at once.

TensorFlow has kernels for them only in builds for one kind of processor. They can be built and
imported here, with their shapes; running one raises an error with its name, as in TensorFlow's
ordinary builds.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.linalg.matmul import mat_mul_shape
from stillflow.ops.nn.depthwise import depthwise_output
from stillflow.ops.nn.quantized import quantized_conv2d_dims
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import QUANTIZED
from stillflow.ops.samples import Bad, Sample, Samples

_RESULT = "(output: out_type, min_output: float, max_output: float)"
_IMAGES = f"""
    Tinput: {QUANTIZED}
    Tfilter: {QUANTIZED}
"""
_FLOAT_OR_INT = "Tbias: {float, qint32}"
_STEPS = """
    strides: list(int)
    padding: {"SAME", "VALID"}
    dilations: list(int) = [1, 1, 1, 1]
"""
_RANGES = "min_input: float, max_input: float, min_filter: float, max_filter: float"
_FIXED = "min_freezed_output: float, max_freezed_output: float"

# After the op's name: the bias's type, inputs after the ranges, the default output type.
_CONVOLUTIONS: dict[str, tuple[str, str, str]] = {
    "Conv2DAndRelu": ("", "", "qint32"),
    "Conv2DAndReluAndRequantize": ("", _FIXED, "quint8"),
    "Conv2DAndRequantize": ("", _FIXED, "qint8"),
    "Conv2DPerChannel": ("", "", "qint32"),
    "Conv2DWithBias": ("float", "", "qint32"),
    "Conv2DWithBiasAndRelu": ("float", "", "qint32"),
    "Conv2DWithBiasAndReluAndRequantize": ("Tbias", _FIXED, "quint8"),
    "Conv2DWithBiasAndRequantize": ("Tbias", _FIXED, "qint8"),
    "Conv2DWithBiasSignedSumAndReluAndRequantize": ("Tbias", _FIXED, "quint8"),
    "Conv2DWithBiasSumAndRelu": ("float", "summand: float", "qint32"),
    "Conv2DWithBiasSumAndReluAndRequantize": ("Tbias", _FIXED, "quint8"),
    "DepthwiseConv2D": ("", "", "qint32"),
    "DepthwiseConv2DWithBias": ("float", "", "qint32"),
    "DepthwiseConv2DWithBiasAndRelu": ("float", "", "qint32"),
    "DepthwiseConv2DWithBiasAndReluAndRequantize": ("Tbias", _FIXED, "quint8"),
}


def _convolution(name: str, bias: str, more: str, result: str) -> Card:
    inputs = ["input: Tinput", "filter: Tfilter"]
    attrs = [_IMAGES]
    if bias:
        inputs.append(f"bias: {bias}")
    inputs.append(_RANGES)
    if more:
        inputs.append(more)
    if bias == "Tbias":
        attrs.append(_FLOAT_OR_INT)
        if "Sum" in name:
            inputs.append("summand: Tsummand, min_summand: float, max_summand: float")
            attrs.append(f"Tsummand: {QUANTIZED}")
    attrs += [f"out_type: {QUANTIZED} = {result}", _STEPS]
    if name.startswith("Conv2D") and name != "Conv2DPerChannel":
        attrs.append("padding_list: list(int) = []")
    return op(
        f"Quantized{name}({', '.join(inputs)}) -> {_RESULT}\n" + "\n".join(attrs),
        devices="host",
        cost=Cost("unknown"),
        latency="long",
    )


def _at_most_vector(node: Node, index: int) -> tuple[int | None, ...] | None:
    return dims.with_rank_at_most(node.dims(index), 1)


def _fused_conv2d_shape(node: Node) -> list[tuple[int, ...]]:
    name = node.op.type
    result = quantized_conv2d_dims(node)
    first = 2
    if "WithBias" in name:
        dims.with_rank(node.dims(2), 1)
        first = 3
    scalars(node, first, first + 1)
    if name == "QuantizedConv2DAndRequantize":
        scalars(node, first + 2, first + 3)
    channels = [_at_most_vector(node, first + 2), _at_most_vector(node, first + 3)][1]
    if "Requantize" in name:
        scalars(node, first + 4, first + 5)
        return [result, (), ()]
    return [result, channels, channels]


def _fused_depthwise_shape(node: Node) -> list[Any]:
    return [depthwise_output(node), None, None]


for _name, _parts in _CONVOLUTIONS.items():
    _card = _convolution(_name, *_parts)
    _card.shape(_fused_depthwise_shape if _name.startswith("Depthwise") else _fused_conv2d_shape)


# --- matrix products ------------------------------------------------------------------------

_MATRICES = f"""
    T1: {QUANTIZED}
    T2: {QUANTIZED}
"""
_PRODUCTS = {
    "": ("Tbias", "", "qint32"),
    "AndRelu": ("float", "", "qint32"),
    "AndReluAndRequantize": ("Tbias", f", {_FIXED}", "quint8"),
}


def _fused_mat_mul_shape(node: Node) -> list[Any]:
    result = mat_mul_shape(node)
    dims.with_rank(node.dims(2), 1)
    scalars(node, *range(3, len(node.inputs)))
    return [result, (), ()]


for _name, (_bias, _more, _result) in _PRODUCTS.items():
    _card = op(
        f"""
        QuantizedMatMulWithBias{_name}(a: T1, b: T2, bias: {_bias}, min_a: float, max_a: float,
                                       min_b: float, max_b: float{_more})
            -> (out: Toutput, min_out: float, max_out: float)
        {_MATRICES} {_FLOAT_OR_INT if _bias == "Tbias" else ""}
        Toutput: {QUANTIZED} = {_result}
        transpose_a: bool = false
        transpose_b: bool = false
        input_quant_mode: {{"MIN_FIRST", "SCALED"}} = "MIN_FIRST"
    """,
        devices="host",
        cost=Cost("unknown"),
        latency="long",
    )
    _card.shape(_fused_mat_mul_shape)


# --- a range for each channel ---------------------------------------------------------------

requantize_per_channel_op = op(f"""
    RequantizePerChannel(input: T, input_min: float, input_max: float,
                         requested_output_min: float, requested_output_max: float)
        -> (output: out_type, output_min: float, output_max: float)
    T: {QUANTIZED} = qint32
    out_type: {QUANTIZED} = quint8
""")


@requantize_per_channel_op.shape
def requantize_per_channel_shape(node: Node) -> OutputDims:
    for index in (1, 2):
        dims.with_rank(node.dims(index), 1)
    scalars(node, 3, 4)
    return [node.dims(0), (), ()]


requantization_range_per_channel_op = op(f"""
    RequantizationRangePerChannel(input: T, input_min: float, input_max: float)
        -> (output_min: float, output_max: float)
    T: {QUANTIZED} = qint32
    clip_value_max: float
""")


@requantization_range_per_channel_op.shape
def requantization_range_per_channel_shape(node: Node) -> OutputDims:
    for index in (1, 2):
        dims.with_rank(node.dims(index), 1)
    return [(), ()]


@requantization_range_per_channel_op.check
def requantization_range_per_channel_check(node: Node) -> None:
    given, *ranges = (node.dims(index) for index in range(3))
    if not node.planning or not all(map(dims.is_known, (given, *ranges))):
        return
    _check_channels(given, *ranges)


def _check_channels(given: Any, low: Any, high: Any) -> None:
    """Raise ValueError unless there is a range for each channel of images."""
    if low != high:
        raise ValueError(f"input_min has incorrect size, expected {high[0]} was {low[0]}")
    if not prod(given):
        raise ValueError("input must not be empty")
    if len(given) != 4:
        raise ValueError("input must be in NHWC format")
    if given[3] != low[0]:
        raise ValueError(
            "input must have same number of channels as length of input_min: "
            f"{given[3]} vs {low[0]}"
        )


@requantization_range_per_channel_op.kernel
def requantization_range_per_channel_kernel(node: Node) -> Kernel:
    most = node.clip_value_max

    def ranges(values: Any, low: Any, high: Any) -> tuple[torch.Tensor, torch.Tensor]:
        _check_channels(tuple(values.shape), tuple(low.shape), tuple(high.shape))
        numbers = values.flatten(0, 2).long()
        scales = torch.maximum(low.abs(), high.abs())
        # In the order of TF's operations, each of which rounds to single precision.
        reached = scales * numbers.abs().amax(0).to(torch.float32) / 2.0**31
        end = torch.clamp(reached.amax(), _SMALLEST, most)
        begin = torch.zeros_like(end) if bool((numbers >= 0).all()) else -end
        return begin, end

    return ranges


_SMALLEST = 2.0**-126  # the least normal number of single precision, where TF begins


@requantization_range_per_channel_op.samples
def requantization_range_per_channel_samples() -> Samples:
    values = quantized(dtypes.qint32, 16).reshape(1, 2, 4, 2)
    low, high = floats(-3.3, -2.0), floats(1.5, 8.1)
    for most in (1e9, 6.0):
        yield Sample(values, np.stack(low), np.stack(high), clip_value_max=most, grad=False)
    bad = "|".join(("incorrect size", "must be rank 1"))
    yield Bad(values, np.stack(low), np.ones(3, np.float32), match=bad, clip_value_max=1.0)
    yield Bad(values[0], np.stack(low), np.stack(high), match="NHWC", clip_value_max=1.0)
