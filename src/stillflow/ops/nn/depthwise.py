"""Depthwise convolution: every channel with filters of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.shape import shape
from stillflow.ops.input_ranks import in_turn, kernel_ranks, kernel_windows
from stillflow.ops.nn import convolution as kernels
from stillflow.ops.nn import windows
from stillflow.ops.nn.conv import given_shape, ramp, target_now
from stillflow.ops.nn.convolution import Geometry, Slide
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Bad, Sample, Samples

_ATTRS = """
    T: {half, bfloat16, float, double}
    strides: list(int)
    padding: {"SAME", "VALID"}
    data_format: {"NHWC", "NCHW"} = "NHWC"
    dilations: list(int) = [1, 1, 1, 1]
"""


# ---- kernels


def weight_in(filter: Any) -> torch.Tensor:
    """Return a filter [height, width, channels, multiplier] as torch's grouped OIHW."""
    height, width, channels, multiplier = filter.shape
    return filter.permute(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)


def _filter(weight: Any, shape: Sequence[int]) -> torch.Tensor:
    """Return the inverse of `weight_in`."""
    height, width, channels, multiplier = shape
    return weight.reshape(channels, multiplier, height, width).permute(2, 3, 0, 1).contiguous()


def convolve(image: Any, filter: Any, geometry: Geometry, output: Sequence[int]) -> torch.Tensor:
    """Run DepthwiseConv2dNative; its result has the shape `output`."""
    if 0 in output or not filter.numel():
        return kernels.zeros(image, output)
    image = kernels.image_in(image, geometry)
    if filter.shape[0] == filter.shape[1] == filter.shape[3] == 1:
        # With one thread torch would convolve channel after channel.
        down, across = geometry.strides
        found = image[:, :, ::down, ::across] * filter.reshape(-1, 1, 1)
    else:
        found = kernels.convolve(image, weight_in(filter), geometry)
    return kernels.image_out(found, geometry)


def _input_gradient(
    filter: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    if not grad.numel() or not filter.numel():
        return kernels.zeros(grad, shape)
    sizes = kernels.sizes_in(shape, geometry)
    grad = kernels.image_in(grad, geometry)
    image = kernels.empty_image(grad, sizes, geometry)
    found, _ = kernels.backward(grad, image, weight_in(filter), geometry, [True, False])
    return kernels.image_out(kernels.cut(found, geometry, sizes[2:]), geometry)


def _filter_gradient(
    image: Any, grad: Any, shape: Sequence[int], geometry: Geometry
) -> torch.Tensor:
    if not grad.numel() or 0 in shape:
        return kernels.zeros(grad, shape)
    image = kernels.padded(kernels.image_in(image, geometry), geometry)
    weight = weight_in(grad.new_empty(tuple(shape)))
    grad = kernels.image_in(grad, geometry)
    _, found = kernels.backward(grad, image, weight, geometry, [False, True])
    return _filter(found, shape)


# ---- shared parts of the cards


def _slide(node: Node) -> Slide:
    """Return the window's geometry. TF's kernels ignore the `dilations` attribute here."""
    channel = windows.channel_axis(node.data_format)
    if node.strides[0] != 1 or node.strides[channel] != 1:
        raise ValueError(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    return Slide(tuple(node.strides), (1, 1, 1, 1), node.padding, (), node.data_format)


def _geometry(slide: Slide, image: Sequence[int], filter: Sequence[int]) -> Geometry:
    return slide.geometry(image, filter)._replace(groups=filter[2])


def _output(slide: Slide, image: Any, filter: Any, running: bool) -> tuple[int | None, ...]:
    """Return the shape of the output, from shapes that may be known in part."""
    form, channel = slide.data_format, windows.channel_axis(slide.data_format)
    depth = dims.multiply(dims.merge_dim(image[channel], filter[2]), filter[3])
    sizes = [
        windows.output_size(
            image[axis], filter[i], slide.strides[axis], slide.padding, running=running
        )
        for i, axis in enumerate(windows.spatial_axes(form))
    ]
    return windows.assemble(image[0], depth, sizes, form)


def _check_backprop(label: str, slide: Slide, image: Any, filter: Any, grad: Any) -> None:
    """Raise an error for an output gradient that is not of a convolution of these shapes."""
    if image[windows.channel_axis(slide.data_format)] != filter[2]:
        raise ValueError(f"{label}: input and filter must have the same in_depth")
    expected = tuple(_output(slide, image, filter, running=True))
    if tuple(grad) == expected:
        return
    channel = windows.channel_axis(slide.data_format)
    if grad[0] != expected[0]:
        raise ValueError(f"{label}: input and out_backprop must have the same batch size")
    if grad[channel] != expected[channel]:
        raise ValueError(f"{label}: depth_multiplier * in_depth not equal to out_depth")
    for name, axis in zip(("rows", "cols"), windows.spatial_axes(slide.data_format)):
        if grad[axis] != expected[axis]:
            raise ValueError(
                f"{label}: Number of {name} of out_backprop doesn't match computed: actual = "
                f"{grad[axis]}, computed = {expected[axis]}"
            )


def _attributes(node: Node) -> dict[str, Any]:
    names = ("dilations", "strides", "padding", "data_format")
    return {name: node.op.attrs[name] for name in names}


# ---- the cards

_windows = kernel_windows(4, strides="Sliding window strides")

depthwise_conv2d_native_op = op(
    f"""
    DepthwiseConv2dNative(input: T, filter: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
    latency="long",
)


def depthwise_output(node: Node) -> tuple[int | None, ...]:
    """Return the shape of a depthwise convolution of input 0 with input 1."""
    image, filter = dims.with_rank(node.dims(0), 4), dims.with_rank(node.dims(1), 4)
    windows.require_length("DepthwiseConv2D", "stride", node.strides, 4)
    form = node.op.attrs.get("data_format", b"NHWC")
    slide = Slide(tuple(node.strides), (), node.padding, (), form)
    return _output(slide, image, filter, node.planning)


depthwise_conv2d_native_op.check(
    in_turn(
        _windows,
        kernel_ranks(
            (0, 4, "input must be 4-dimensional{}"), (1, 4, "filter must be 4-dimensional: {}")
        ),
    )
)


@depthwise_conv2d_native_op.shape
def depthwise_conv2d_native_shape(node: Node) -> OutputDims:
    return depthwise_output(node)


@depthwise_conv2d_native_op.kernel
def depthwise_conv2d_native_kernel(node: Node) -> Kernel:
    slide, run = _slide(node), precise_on_cpu(node, convolve, 2)
    image, filter = node.dims(0), node.dims(1)
    if dims.is_known(image) and dims.is_known(filter):
        geometry = _geometry(slide, image, filter)
        return node.call(run, *node.inputs, geometry, node.out_dims(0))

    def sized(image: Any, filter: Any) -> torch.Tensor:
        geometry = _geometry(slide, image.shape, filter.shape)
        return run(image, filter, geometry, _output(slide, image.shape, filter.shape, True))

    return sized


@depthwise_conv2d_native_op.gradient
def depthwise_conv2d_native_gradient(node: Node, grad: Tensor) -> Gradients:
    image, filter = node.inputs
    given = _attributes(node)
    for_image = depthwise_conv2d_native_backprop_input_op(shape(image), filter, grad, **given)
    for_filter = depthwise_conv2d_native_backprop_filter_op(image, shape(filter), grad, **given)
    return [for_image, for_filter]


@depthwise_conv2d_native_op.samples
def depthwise_conv2d_native_samples() -> Samples:
    image, filter = ramp(2, 5, 4, 3), ramp(3, 2, 3, 2)
    yield Sample(image, filter, strides=[1, 1, 1, 1], padding="SAME")
    yield Sample(image, filter, strides=[1, 2, 2, 1], padding="VALID")
    yield Sample(image, filter[..., :1], strides=[1, 2, 2, 1], padding="SAME")
    yield Sample(
        image.transpose(0, 3, 1, 2), filter, strides=[1, 1, 1, 1], padding="SAME",
        data_format="NCHW",
    )  # fmt: skip
    yield Bad(image, filter[:, :, :2], strides=[1] * 4, padding="SAME", match="must be equal")
    yield Bad(image, filter, strides=[1] * 3, padding="SAME", match="to contain 4 values")


depthwise_conv2d_native_backprop_input_op = op(
    f"""
    DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    numbers=("input_sizes",),
    cost=Cost("unknown"),
    latency="long",
)
depthwise_conv2d_native_backprop_input_op.check(
    in_turn(
        _windows,
        kernel_ranks(
            (1, 4, "DepthwiseConv2DBackpropInput: filter must be 4-dimensional"),
            (2, 4, "DepthwiseConv2DBackpropInput: out_backprop must be 4-dimensional"),
        ),
    )
)


@depthwise_conv2d_native_backprop_input_op.shape
def depthwise_conv2d_native_backprop_input_shape(node: Node) -> OutputDims:
    return given_shape(node, 0, 4)


@depthwise_conv2d_native_backprop_input_op.kernel
def depthwise_conv2d_native_backprop_input_kernel(node: Node) -> Kernel:
    slide, run = _slide(node), precise_on_cpu(node, _input_gradient, 2)
    label = "DepthwiseConv2DBackpropInput"
    sizes, window, last = node.shape_value(0), node.dims(1), node.dims(2)
    if dims.is_known(sizes) and dims.is_known(window) and dims.is_known(last):
        _check_backprop(label, slide, sizes, window, last)
        return node.call(run, *node.inputs[1:], sizes, _geometry(slide, sizes, window))

    def gradient(sizes: Any, filter: Any, grad: Any) -> torch.Tensor:
        target = target_now(sizes)
        _check_backprop(label, slide, target, filter.shape, grad.shape)
        return run(filter, grad, target, _geometry(slide, target, filter.shape))

    return gradient


@depthwise_conv2d_native_backprop_input_op.gradient
def depthwise_conv2d_native_backprop_input_gradient(node: Node, grad: Tensor) -> Gradients:
    _, filter, backprop = node.inputs
    given = _attributes(node)
    for_filter = depthwise_conv2d_native_backprop_filter_op(grad, shape(filter), backprop, **given)
    return [None, for_filter, depthwise_conv2d_native_op(grad, filter, **given)]


@depthwise_conv2d_native_backprop_input_op.samples
def depthwise_conv2d_native_backprop_input_samples() -> Samples:
    sizes, filter = np.array([2, 5, 4, 3], np.int32), ramp(3, 2, 3, 2)
    for stride, grad in ((1, ramp(2, 5, 4, 6)), (2, ramp(2, 3, 2, 6))):
        yield Sample(
            sizes, filter, grad, strides=[1, stride, stride, 1], padding="SAME", fixed=(0,)
        )


depthwise_conv2d_native_backprop_filter_op = op(
    f"""
    DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    numbers=("filter_sizes",),
    cost=Cost("unknown"),
    latency="long",
)
depthwise_conv2d_native_backprop_filter_op.check(
    in_turn(
        _windows,
        kernel_ranks(
            (0, 4, "DepthwiseConv2DBackpropFilter: input must be 4-dimensional"),
            (2, 4, "DepthwiseConv2DBackpropFilter: out_backprop must be 4-dimensional"),
        ),
    )
)


@depthwise_conv2d_native_backprop_filter_op.shape
def depthwise_conv2d_native_backprop_filter_shape(node: Node) -> OutputDims:
    return given_shape(node, 1, 4)


@depthwise_conv2d_native_backprop_filter_op.kernel
def depthwise_conv2d_native_backprop_filter_kernel(node: Node) -> Kernel:
    slide, run = _slide(node), precise_on_cpu(node, _filter_gradient, 2)
    label = "DepthwiseConv2DBackpropFilter"
    image, sizes, last = node.dims(0), node.shape_value(1), node.dims(2)
    if dims.is_known(sizes) and dims.is_known(image) and dims.is_known(last):
        _check_backprop(label, slide, image, sizes, last)
        geometry = _geometry(slide, image, sizes)
        return node.call(run, node.inputs[0], node.inputs[2], sizes, geometry)

    def gradient(image: Any, sizes: Any, grad: Any) -> torch.Tensor:
        target = target_now(sizes)
        _check_backprop(label, slide, image.shape, target, grad.shape)
        return run(image, grad, target, _geometry(slide, image.shape, target))

    return gradient


@depthwise_conv2d_native_backprop_filter_op.gradient
def depthwise_conv2d_native_backprop_filter_gradient(node: Node, grad: Tensor) -> Gradients:
    image, _, backprop = node.inputs
    given = _attributes(node)
    for_image = depthwise_conv2d_native_backprop_input_op(shape(image), grad, backprop, **given)
    return [for_image, None, depthwise_conv2d_native_op(image, grad, **given)]


@depthwise_conv2d_native_backprop_filter_op.samples
def depthwise_conv2d_native_backprop_filter_samples() -> Samples:
    image, sizes = ramp(2, 5, 4, 3), np.array([3, 2, 3, 2], np.int32)
    for stride, grad in ((1, ramp(2, 5, 4, 6)), (2, ramp(2, 3, 2, 6))):
        yield Sample(image, sizes, grad, strides=[1, stride, stride, 1], padding="SAME", fixed=(1,))


# ---- public functions


@export("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str | None = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor:
    """Convolves every channel with filters of its own.

    Args:
      input: [batch, height, width, channels], or [batch, channels, height, width] under "NCHW".
      filter: [height, width, channels, multiplier].

    Returns:
      A tensor with `channels * multiplier` channels.
    """
    return depthwise_conv2d_native_op(
        input, filter, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


@export("nn.depthwise_conv2d_backprop_input", "nn.depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `depthwise_conv2d_native` for its input, of shape `input_sizes`."""
    return depthwise_conv2d_native_backprop_input_op(
        input_sizes, filter, out_backprop, strides=strides, padding=padding,
        data_format=data_format, dilations=dilations, name=name,
    )  # fmt: skip


@export("nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `depthwise_conv2d_native` for its filter, of shape `filter_sizes`."""
    return depthwise_conv2d_native_backprop_filter_op(
        input, filter_sizes, out_backprop, strides=strides, padding=padding,
        data_format=data_format, dilations=dilations, name=name,
    )  # fmt: skip
