"""Convolutions, pools and activations of quantized numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import F, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.nn import pool_kernels, windows
from stillflow.ops.nn.conv import check_depths
from stillflow.ops.nn.pooling import check_window, over_images, pool_shape, refuse
from stillflow.ops.quantization.arithmetic import centred, product_ends, products_in, to_result
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import QUANTIZED, Range, number, numbers, quantize_number
from stillflow.ops.samples import Bad, Sample, Samples

_WINDOW = """
    ksize: list(int)
    strides: list(int)
    padding: {"SAME", "VALID"}
"""


# --- QuantizedConv2D ------------------------------------------------------------------------

quantized_conv2d_op = op(
    f"""
    QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float, max_input: float,
                    min_filter: float, max_filter: float)
        -> (output: out_type, min_output: float, max_output: float)
    Tinput: {QUANTIZED}
    Tfilter: {QUANTIZED}
    out_type: {QUANTIZED} = qint32
    strides: list(int)
    padding: {{"SAME", "VALID"}}
    dilations: list(int) = [1, 1, 1, 1]
""",
    devices="host",
    cost=Cost("unknown"),
    latency="long",
)


def quantized_conv2d_dims(node: Node) -> Any:
    """Return the shape of a convolution of quantized images: NHWC."""
    image, filter = dims.with_rank(node.dims(0), 4), dims.with_rank(node.dims(1), 4)
    windows.require_length("Conv2D", "dilation", node.dilations, 4)
    if len(node.strides) != 4:
        raise ValueError(
            "Conv2D on data format NHWC requires the stride attribute to contain 4 values, but "
            f"got: {len(node.strides)}"
        )
    check_depths(image[3], filter[2], filter[3])
    sizes = [
        windows.output_size(
            image[axis + 1], filter[axis], node.strides[axis + 1], node.padding,
            node.dilations[axis + 1], 0, node.planning,
        )
        for axis in range(2)
    ]  # fmt: skip
    return (image[0], *sizes, filter[3])


@quantized_conv2d_op.shape
def quantized_conv2d_shape(node: Node) -> OutputDims:
    result = quantized_conv2d_dims(node)
    scalars(node, 2, 3, 4, 5)
    return [result, (), ()]


def _check_steps(node: Node) -> None:
    strides, dilations = node.strides, node.dilations
    if strides[1] != strides[2]:
        raise ValueError(
            "Current implementation only supports equal length strides in the row and column "
            "dimensions."
        )
    if strides[0] != 1 or strides[3] != 1:
        raise ValueError(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if dilations[1] != 1 or dilations[2] != 1:
        raise ValueError(
            "Current implementation only supports dilated rate as 1 in the row and column "
            "dimensions."
        )
    if dilations[0] != 1 or dilations[3] != 1:
        raise ValueError(
            "Current implementation does not yet support dilations in the batch and depth "
            "dimensions."
        )


def placed(size: int, window: int, stride: int, padding: bytes) -> tuple[int, int]:
    """Elements to add before and after, negative to cut off.

    Where steps leave elements over, TF's quantized convolution centres the windows, other than
    its convolution of real numbers.
    """
    count = windows.output_size(size, window, stride, padding)
    assert count is not None
    needed = (count - 1) * stride + window
    before = int((needed - size + (padding == b"VALID")) / 2)
    return before, needed - size - before


def _convolve(
    image: Any, filter: Any, *rest: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    *ends, types, stride, padding = rest
    low_image, high_image, low_filter, high_filter = numbers(*ends)
    a = Range(low_image, high_image, types[0])
    b = Range(low_filter, high_filter, types[1])
    rows, columns = (
        placed(image.shape[axis + 1], filter.shape[axis], stride, padding) for axis in range(2)
    )
    kind = products_in(filter[..., 0].numel(), a, b)
    pixels = F.pad(centred(image, a, kind).permute(0, 3, 1, 2), (*columns, *rows))
    sums = F.conv2d(pixels, centred(filter, b, kind).permute(3, 2, 0, 1), stride=stride)
    result = to_result(sums.permute(0, 2, 3, 1).contiguous(), types[2])
    return (result, *product_ends(a, b, types[2], ends[0]))


@quantized_conv2d_op.kernel
def quantized_conv2d_kernel(node: Node) -> Kernel:
    _check_steps(node)
    types = (node.Tinput, node.Tfilter, node.out_type)
    return node.call(_convolve, *node.inputs, types, node.strides[1], node.padding)


@quantized_conv2d_op.samples
def quantized_conv2d_samples() -> Samples:
    image, filter = quantized(dtypes.quint8, 2, 5, 8, 2), quantized(dtypes.quint8, 3, 2, 2, 3)
    ends = floats(-3.3, 8.1, -0.7, 1.9)
    for stride in (1, 2, 3, 4):
        for padding in ("SAME", "VALID"):
            yield Sample(image, filter, *ends, strides=[1, stride, stride, 1], padding=padding)
    yield Sample(image, filter[:1, :1], *ends, strides=[1, 4, 4, 1], padding="SAME")
    yield Sample(image, filter, *floats(1, 2, -1, 1), strides=[1, 1, 1, 1], padding="SAME")
    plain = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    match = "multiple of the number of groups|same depth"
    yield Bad(image, filter[:, :, :1], *ends, **plain, match=match)
    uneven = {"strides": [1, 1, 2, 1], "padding": "VALID"}
    yield Bad(image, filter, *ends, **uneven, match="only supports equal length strides")


# --- pools ----------------------------------------------------------------------------------

quantized_avg_pool_op = op(
    f"""
    QuantizedAvgPool(input: T, min_input: float, max_input: float)
        -> (output: T, min_output: float, max_output: float)
    T: {QUANTIZED}
    {_WINDOW}
""",
    devices="host",
    cost=Cost("unknown"),
)
quantized_max_pool_op = op(
    f"""
    QuantizedMaxPool(input: T, min_input: float, max_input: float)
        -> (output: T, min_output: float, max_output: float)
    T: {QUANTIZED}
    {_WINDOW}
""",
    devices="host",
    cost=Cost("unknown"),
)


def _pool_shape(node: Node, label: str) -> list[tuple[int | None, ...]]:
    result = pool_shape(node, label, 1, with_depth=label == "MaxPool")
    scalars(node, 1, 2)
    return [result, (), ()]


@quantized_avg_pool_op.shape
def quantized_avg_pool_shape(node: Node) -> Any:
    return _pool_shape(node, "AvgPool")


@quantized_max_pool_op.shape
def quantized_max_pool_shape(node: Node) -> Any:
    return _pool_shape(node, "MaxPool")


def _average(
    image: Any, low: Any, high: Any, geometry: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Averages without their fractions."""
    average = pool_kernels.avg_pool(image.to(torch.float64), geometry)
    # A sum divided by a count may fall short of a whole average by a rounding error.
    return average.add_(1e-6).trunc_().to(image.dtype), low.clone(), high.clone()


def _maximum(
    image: Any, low: Any, high: Any, geometry: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    wide = image.to(torch.int32)
    return pool_kernels.max_pool(wide, geometry).to(image.dtype), low.clone(), high.clone()


@quantized_avg_pool_op.kernel
def quantized_avg_pool_kernel(node: Node) -> Kernel:
    if node.ksize[3] != 1:
        refuse(node, "Non-spatial pooling is not yet supported. Volunteers? :)")
    check_window(node, node.ksize, node.strides, False)
    return over_images(node, _average, [0, 1, 2], 1)


@quantized_max_pool_op.kernel
def quantized_max_pool_kernel(node: Node) -> Kernel:
    if node.ksize[3] != 1:
        refuse(node, "QuantizedMaxPool is not supported on the depth dimension.")
    return over_images(node, _maximum, [0, 1, 2], 1)


def _pool_samples() -> Samples:
    image = quantized(dtypes.quint8, 2, 5, 4, 3)[:, ::-1, :, ::-1].copy()
    ends = floats(-3.3, 8.1)
    for padding in ("SAME", "VALID"):
        yield Sample(image, *ends, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding=padding)
        yield Sample(image, *ends, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=padding)
    two = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    yield Bad(image[0], *ends, **two, match="must be rank 4")
    yield Bad(image, image, ends[0], **two, match="must be rank 0")


quantized_avg_pool_op.samples(_pool_samples)
quantized_max_pool_op.samples(_pool_samples)


# --- activations ----------------------------------------------------------------------------

quantized_relu_op = op(
    f"""
    QuantizedRelu(features: Tinput, min_features: float, max_features: float)
        -> (activations: out_type, min_activations: float, max_activations: float)
    Tinput: {QUANTIZED}
    out_type: {QUANTIZED} = quint8
""",
    devices="host",
    cost=Cost("unknown"),
)
quantized_relu6_op = op(
    f"""
    QuantizedRelu6(features: Tinput, min_features: float, max_features: float)
        -> (activations: out_type, min_activations: float, max_activations: float)
    Tinput: {QUANTIZED}
    out_type: {QUANTIZED} = quint8
""",
    devices="host",
    cost=Cost("unknown"),
)
quantized_relu_x_op = op(
    f"""
    QuantizedReluX(features: Tinput, max_value: float, min_features: float, max_features: float)
        -> (activations: out_type, min_activations: float, max_activations: float)
    Tinput: {QUANTIZED}
    out_type: {QUANTIZED} = quint8
""",
    devices="host",
    cost=Cost("unknown"),
)


def _activation_shape(node: Node) -> Any:
    scalars(node, *range(1, len(node.inputs)))
    return [node.dims(0), (), ()]


for _card in (quantized_relu_op, quantized_relu6_op, quantized_relu_x_op):
    _card.shape(_activation_shape)


def _rectify(
    values: Any, low: Any, high: Any, top: float | None, dtype: DType
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ends = (number(low), number(high), dtype)
    bottom = quantize_number(0.0, *ends)
    limit = None if top is None else quantize_number(top, *ends)
    return values.clamp(bottom, limit), low.clone(), high.clone()


def _activation_kernel(node: Node, top: float | None) -> Call:
    if node.Tinput != node.out_type:
        raise ValueError(
            f"{node.op.type} gives {node.Tinput.name}, the type of its input, not "
            f"{node.out_type.name}"
        )
    return node.call(_rectify, *node.inputs, top, node.Tinput)


@quantized_relu_op.kernel
def quantized_relu_kernel(node: Node) -> Kernel:
    return _activation_kernel(node, None)


@quantized_relu6_op.kernel
def quantized_relu6_kernel(node: Node) -> Kernel:
    return _activation_kernel(node, 6.0)


@quantized_relu_x_op.kernel
def quantized_relu_x_kernel(node: Node) -> Kernel:
    _activation_kernel(node, None)
    dtype = node.Tinput

    def rectify(
        values: Any, top: Any, low: Any, high: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return _rectify(values, low, high, float(number(top)), dtype)

    return rectify


def _activation_samples() -> Samples:
    for kind in (dtypes.quint8, dtypes.qint32):
        yield Sample(quantized(kind, 3, 4), *floats(-3.3, 8.1), out_type=kind)
    yield Sample(quantized(dtypes.quint8, 7), *floats(1, 20))
    yield Bad(quantized(kind, 7), np.ones(2, np.float32), np.float32(1), match="must be rank 0")


quantized_relu_op.samples(_activation_samples)
quantized_relu6_op.samples(_activation_samples)


@quantized_relu_x_op.samples
def quantized_relu_x_samples() -> Samples:
    yield Sample(quantized(dtypes.quint8, 7), *floats(4, -3.3, 8.1))


# --- public functions -----------------------------------------------------------------------


@export("nn.quantized_conv2d")
def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: Any,
    padding: str,
    out_type: Any = dtypes.qint32,
    dilations: Any = [1, 1, 1, 1],  # noqa: B006
    name: str | None = None,
) -> Any:
    """Return a convolution of quantized images.

    Args:
      input: [batch, height, width, channels], quint8.
      filter: [height, width, channels, output channels], quint8.
      min_input, max_input, min_filter, max_filter: scalars, the ranges of both.
      strides: four steps; those of height and width are equal.
      padding: "SAME" or "VALID".

    Returns:
      qint32 sums, and the ends of their range.
    """
    return quantized_conv2d_op(
        input,
        filter,
        min_input,
        max_input,
        min_filter,
        max_filter,
        strides=strides,
        padding=padding,
        out_type=out_type,
        dilations=dilations,
        name=name,
    )


@export("nn.quantized_avg_pool")
def quantized_avg_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Any:
    """Averages over windows of quantized images [batch, height, width, channels]."""
    return quantized_avg_pool_op(
        input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name
    )


@export("nn.quantized_max_pool")
def quantized_max_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Any:
    """Maxima over windows of quantized images [batch, height, width, channels]."""
    return quantized_max_pool_op(
        input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name
    )


@export("nn.quantized_relu_x")
def quantized_relu_x(
    features: Any,
    max_value: Any,
    min_features: Any,
    max_features: Any,
    out_type: Any = dtypes.quint8,
    name: str | None = None,
) -> Any:
    """Quantized numbers cut off at zero and at a scalar `max_value`."""
    return quantized_relu_x_op(
        features, max_value, min_features, max_features, out_type=out_type, name=name
    )
