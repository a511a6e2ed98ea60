"""FusedConv2DBiasActivation: a convolution, scaled, with a second input, biases and Relu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.errors import (
    invalid_argument,
    unimplemented,
)
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.nn import windows
from stillflow.ops.nn.conv import check_depths
from stillflow.ops.nn.convolution import Slide, convolution
from stillflow.ops.quantization.linear import quantized
from stillflow.ops.samples import Bad, Sample, Samples

fused_conv2d_bias_activation_op = op(
    """
    FusedConv2DBiasActivation(conv_input: T, filter: T, bias: Tbias, side_input: T,
                              conv_input_scale: float, side_input_scale: float) -> output: T
    T: {float, half, qint8}
    Tbias: {float, half}
    strides: list(int)
    padding: {"SAME", "VALID"}
    data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"
    filter_format: {"HWIO", "OIHW", "OIHW_VECT_I"} = "HWIO"
    activation_mode: {"Relu", "None"} = "Relu"
    dilations: list(int) = [1, 1, 1, 1]
""",
    cost=Cost("unknown"),
    latency="long",
)

_VECTORS = (b"NCHW_VECT_C", b"OIHW_VECT_I")  # four channels at a time, for GPUs


def _as_hwio(filter: Any, form: bytes) -> tuple[Any, ...]:
    """Return the sizes of a filter, in the order height, width, input, output."""
    return tuple(filter) if form == b"HWIO" else (filter[2], filter[3], filter[1], filter[0])


@fused_conv2d_bias_activation_op.shape
def fused_conv2d_bias_activation_shape(node: Node) -> OutputDims:
    form = node.data_format
    if form in _VECTORS or node.filter_format in _VECTORS:
        return (None,) * (5 if form in _VECTORS else 4)
    image = dims_lib.with_rank(node.dims(0), 4)
    height, width, depth, channels = _as_hwio(
        dims_lib.with_rank(node.dims(1), 4), node.filter_format
    )
    if len(node.strides) != 4:
        raise ValueError(
            f"Conv2D on data format {form.decode()} requires the stride attribute to contain 4 "
            f"values, but got: {len(node.strides)}"
        )
    check_depths(image[windows.channel_axis(form)], depth, channels)
    sizes = [
        windows.output_size(
            image[axis], size, node.strides[axis], node.padding, running=node.planning
        )
        for size, axis in zip((height, width), windows.spatial_axes(form), strict=True)
    ]
    output = windows.assemble(image[0], channels, sizes, form)
    (biases,) = dims_lib.with_rank(node.dims(2), 1)
    if channels != biases and not (node.planning and None in (channels, biases)):
        first, second = (-1 if size is None else size for size in (channels, biases))
        raise ValueError(
            f"Output depth dimension ({first}) and bias dimension ({second}) do not match."
        )
    side = dims_lib.with_rank_at_least(node.dims(3), 1)
    if side is not None and len(side) > 1:
        dims_lib.merge(side, output)
    for place in (4, 5):
        dims_lib.with_rank(node.dims(place), 0)
    return output


def _slide(node: Node) -> Slide:
    """Return the window's geometry; raise the errors of TensorFlow's CPU kernel, in its order."""
    form = node.data_format
    if node.strides[0] != 1 or node.strides[windows.channel_axis(form)] != 1:
        raise unimplemented(
            "Convolutional strides are not supported in the batch and depth dimensions."
        )
    if tuple(node.dilations) != (1, 1, 1, 1):
        raise invalid_argument("Dilations must be all equal to 1.")
    if node.T.is_quantized or form in _VECTORS or node.filter_format in _VECTORS:
        if form != b"NHWC":
            raise invalid_argument("qint8 should be used with data_format NHWC on CPU.")
        if node.filter_format != b"HWIO":
            raise invalid_argument("qint8 should be used with filter_format HWIO on CPU.")
    return Slide(tuple(node.strides), (1, 1, 1, 1), node.padding, (), form)


def _as_numbers(found: Any, scale: float, side: Any, side_scale: float, bias: Any) -> torch.Tensor:
    """Return the sum, in single precision at least."""
    result = found.float() * scale + bias.float()
    return result if side is None else result + side.float() * side_scale


def _as_integers(found: Any, scale: float, side: Any, side_scale: float, bias: Any) -> torch.Tensor:
    """Return the sum as TensorFlow rounds it, each step to single precision."""
    result = (found.double() * scale + bias.double()).float()
    if side is not None:
        result = (side.double() * side_scale + result.double()).float()
    return result.round().clamp(-128, 127)


@fused_conv2d_bias_activation_op.kernel
def fused_conv2d_bias_activation_kernel(node: Node) -> Kernel:
    slide, dtype = _slide(node), node.T
    is_first = slide.data_format == b"NCHW"
    is_relu = node.activation_mode == b"Relu"
    order = (0, 1, 2, 3) if node.filter_format == b"HWIO" else (2, 3, 1, 0)
    combine: Callable[..., Any] = _as_integers if dtype.is_quantized else _as_numbers

    def run(
        image: Any, filter: Any, bias: Any, side: Any, scale: Any, side_scale: Any
    ) -> torch.Tensor:
        if dtype.is_quantized:
            image, filter = image.float(), filter.float()
        filter = filter.permute(order).contiguous()
        found = convolution(image, filter, slide.geometry(image.shape, filter.shape))
        share = float(side_scale)
        if share != 0 and side.shape != found.shape:  # TensorFlow reads uninitialized memory
            raise invalid_argument(
                f"side_input must have the shape {list(found.shape)} of the output"
            )
        if is_first:
            bias = bias.reshape(-1, 1, 1)
        result = combine(found, float(scale), side if share else None, share, bias)
        return (result.clamp(min=0) if is_relu else result).to(kind)

    kind = torch.int8 if dtype.is_quantized else getattr(torch, dtype.name)
    return run


_SCALES = (np.float32(0.1), np.float32(0))
_SIDE = np.zeros(0, np.float32)


@fused_conv2d_bias_activation_op.samples
def fused_conv2d_bias_activation_samples() -> Samples:
    image, filter = quantized(dtypes.qint8, 1, 4, 4, 3), quantized(dtypes.qint8, 2, 2, 3, 2)
    bias, none, moved = np.array([3, -5], np.float32), quantized(dtypes.qint8, 0), [1, 1, 1, 1]
    yield Sample(image, filter, bias, none, *_SCALES, strides=moved, padding="SAME")
    side = quantized(dtypes.qint8, 1, 2, 2, 2)
    half = np.float32(0.5)
    yield Sample(
        image, filter, bias, side, half / 50, half, strides=[1, 2, 2, 1], padding="VALID",
        activation_mode="None",
    )  # fmt: skip
    values = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4) / 10
    window = np.arange(8, dtype=np.float32).reshape(2, 2, 1, 2) - 3
    yield Sample(
        values, window, bias, _SIDE, *_SCALES, strides=moved, padding="SAME", data_format="NCHW",
        filter_format="OIHW", grad=False,
    )  # fmt: skip
    yield Bad(
        image, filter, bias[:1], none, *_SCALES, strides=moved, padding="SAME",
        match="do not match",
    )  # fmt: skip
    yield Bad(
        image, filter, bias, side, half, half, strides=moved, padding="VALID",
        match="must be equal|must have the shape|Dimension",
    )  # fmt: skip
