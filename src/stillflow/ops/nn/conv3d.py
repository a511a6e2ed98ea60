"""Three-dimensional convolution: Conv3D and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.shape import shape
from stillflow.ops.input_ranks import kernel_ranks, kernel_windows
from stillflow.ops.nn import windows
from stillflow.ops.nn.conv import (
    check_depths,
    convolution_kernel,
    filter_gradient_kernel,
    given_shape,
    input_gradient_kernel,
    ramp,
    slide_of,
)
from stillflow.ops.nn.convolution import Slide
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_WINDOW = """
    strides: list(int) >= 5
    padding: {"SAME", "VALID"}
"""
_FORMAT = 'data_format: {"NDHWC", "NCDHW"} = "NDHWC"'
_DILATIONS = "dilations: list(int) = [1, 1, 1, 1, 1]"
_TYPES = "{half, bfloat16, float, double}"


def _attributes(node: Node) -> dict[str, Any]:
    names = ("dilations", "strides", "padding", "data_format")
    return {name: node.op.attrs[name] for name in names}


conv3d_op = op(
    f"""
    Conv3D(input: T, filter: T) -> output: T
    T: {_TYPES}
    {_WINDOW}
    {_FORMAT}
    {_DILATIONS}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
    latency="long",
)
conv3d_op.check(
    kernel_ranks((0, 5, "input must be 5-dimensional"), (1, 5, "filter must be 5-dimensional"))
)


@conv3d_op.shape
def conv3d_shape(node: Node) -> OutputDims:
    form = node.data_format
    image, filter = dims.with_rank(node.dims(0), 5), dims.with_rank(node.dims(1), 5)
    windows.require_length("Conv3D", "dilation", node.dilations, 5)
    windows.require_length("Conv3D", "stride", node.strides, 5)
    check_depths(image[windows.channel_axis(form)], filter[3], filter[4])
    sizes = [
        windows.output_size(
            image[axis], filter[i], node.strides[axis], node.padding, node.dilations[axis],
            running=node.planning,
        )
        for i, axis in enumerate(windows.spatial_axes(form))
    ]  # fmt: skip
    return windows.assemble(image[0], filter[4], sizes, form)


@conv3d_op.kernel
def conv3d_kernel(node: Node) -> Kernel:
    return convolution_kernel(node, slide_of(node))


@conv3d_op.gradient
def conv3d_gradient(node: Node, grad: Tensor) -> Gradients:
    image, filter = node.inputs
    sizes = shape(image)
    for_image = conv3d_backprop_input_v2_op(sizes, filter, grad, **_attributes(node))
    sizes = shape(filter)
    for_filter = conv3d_backprop_filter_v2_op(image, sizes, grad, **_attributes(node))
    return [for_image, for_filter]


@conv3d_op.samples
def conv3d_samples() -> Samples:
    image, filter = ramp(1, 4, 3, 5, 2), ramp(2, 3, 2, 2, 3)
    yield Sample(image, filter, strides=[1] * 5, padding="SAME")
    yield Sample(image, filter, strides=[1, 2, 1, 2, 1], padding="VALID")
    yield Sample(image, filter, strides=[1, 2, 2, 2, 1], padding="SAME")
    yield Sample(
        image.transpose(0, 4, 1, 2, 3), filter, strides=[1] * 5, padding="SAME",
        data_format="NCDHW",
    )  # fmt: skip
    yield Bad(image, filter[..., :1, :][:5], strides=[1] * 4, padding="SAME", match="minimum")
    yield Bad(image[0], filter, strides=[1] * 5, padding="SAME", match="must be rank 5")


# ---- gradients

_windows = kernel_windows(5, dilations="Dilation rates", strides="Sliding window strides")

conv3d_backprop_input_v2_op = op(
    f"""
    Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> output: T
    T: {_TYPES}
    {_WINDOW}
    {_FORMAT}
    {_DILATIONS}
    Tshape: {{int32, int64}} = int32
""",
    gpu_types="fractions",
    numbers=("input_sizes",),
    cost=Cost("unknown"),
    latency="long",
)

conv3d_backprop_input_v2_op.check(_windows)


@conv3d_backprop_input_v2_op.shape
def conv3d_backprop_input_v2_shape(node: Node) -> OutputDims:
    return given_shape(node, 0, 5)


@conv3d_backprop_input_v2_op.kernel
def conv3d_backprop_input_v2_kernel(node: Node) -> Kernel:
    return input_gradient_kernel(node, slide_of(node), "Conv3DBackpropInputOp")


@conv3d_backprop_input_v2_op.gradient
def conv3d_backprop_input_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    _, filter, backprop = node.inputs
    sizes = shape(filter)
    for_filter = conv3d_backprop_filter_v2_op(grad, sizes, backprop, **_attributes(node))
    return [None, for_filter, conv3d_op(grad, filter, **_attributes(node))]


@conv3d_backprop_input_v2_op.samples
def conv3d_backprop_input_v2_samples() -> Samples:
    sizes, filter, grad = (
        np.array([1, 4, 3, 5, 2], np.int32),
        ramp(2, 3, 2, 2, 3),
        ramp(1, 2, 2, 3, 3),
    )
    yield Sample(sizes, filter, grad, strides=[1, 2, 2, 2, 1], padding="SAME", fixed=(0,))


conv3d_backprop_filter_v2_op = op(
    f"""
    Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> output: T
    T: {_TYPES}
    {_WINDOW}
    {_FORMAT}
    {_DILATIONS}
""",
    gpu_types="fractions",
    numbers=("filter_sizes",),
    cost=Cost("unknown"),
    latency="long",
)

conv3d_backprop_filter_v2_op.check(_windows)


@conv3d_backprop_filter_v2_op.shape
def conv3d_backprop_filter_v2_shape(node: Node) -> OutputDims:
    return given_shape(node, 1, 5)


@conv3d_backprop_filter_v2_op.kernel
def conv3d_backprop_filter_v2_kernel(node: Node) -> Kernel:
    return filter_gradient_kernel(node, slide_of(node), "Conv3DBackpropFilterOp")


@conv3d_backprop_filter_v2_op.gradient
def conv3d_backprop_filter_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    image, _, backprop = node.inputs
    sizes = shape(image)
    for_image = conv3d_backprop_input_v2_op(sizes, grad, backprop, **_attributes(node))
    return [for_image, None, conv3d_op(image, grad, **_attributes(node))]


@conv3d_backprop_filter_v2_op.samples
def conv3d_backprop_filter_v2_samples() -> Samples:
    image, sizes, grad = (
        ramp(1, 4, 3, 5, 2),
        np.array([2, 3, 2, 2, 3], np.int32),
        ramp(1, 2, 2, 3, 3),
    )
    yield Sample(image, sizes, grad, strides=[1, 2, 2, 2, 1], padding="SAME", fixed=(1,))


# ---- the gradients of 2016, which take the tensors whose shapes they need

_OLD_TYPES = "{half, float, double}"


def _old_slide(node: Node) -> Slide:
    return Slide(tuple(node.strides), tuple(node.dilations), node.padding, (), b"NDHWC")


conv3d_backprop_input_op = op(
    f"""
    Conv3DBackpropInput(input: T, filter: T, out_backprop: T) -> output: T
    T: {_OLD_TYPES}
    {_WINDOW}
    {_DILATIONS}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
    latency="long",
)


@conv3d_backprop_input_op.shape
def conv3d_backprop_input_shape(node: Node) -> OutputDims:
    return dims.with_rank(node.dims(0), 5)


@conv3d_backprop_input_op.kernel
def conv3d_backprop_input_kernel(node: Node) -> Kernel:
    return input_gradient_kernel(node, _old_slide(node), "Conv3DBackpropInputOp", like=True)


@conv3d_backprop_input_op.samples
def conv3d_backprop_input_samples() -> Samples:
    yield Sample(
        ramp(1, 4, 3, 5, 2), ramp(2, 3, 2, 2, 3), ramp(1, 2, 2, 3, 3),
        strides=[1, 2, 2, 2, 1], padding="SAME", grad=False,
    )  # fmt: skip


conv3d_backprop_filter_op = op(
    f"""
    Conv3DBackpropFilter(input: T, filter: T, out_backprop: T) -> output: T
    T: {_OLD_TYPES}
    {_WINDOW}
    {_DILATIONS}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
    latency="long",
)


@conv3d_backprop_filter_op.shape
def conv3d_backprop_filter_shape(node: Node) -> OutputDims:
    return dims.with_rank(node.dims(1), 5)


@conv3d_backprop_filter_op.kernel
def conv3d_backprop_filter_kernel(node: Node) -> Kernel:
    return filter_gradient_kernel(node, _old_slide(node), "Conv3DBackpropFilterOp", like=True)


conv3d_backprop_filter_op.samples(conv3d_backprop_input_samples)


# ---- public functions


@export("nn.conv3d")
def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolves volumes with a filter.

    Args:
      input: [batch, depth, height, width, channels], or channels second under "NCDHW".
      filter: [depth, height, width, input channels, output channels].
      strides, dilations: one number per dimension.
      padding: "SAME" or "VALID".
      filters: the newer name of `filter`.
    """
    filter = renamed_argument("filters", filters, "filter", filter)
    return conv3d_op(
        input, filter, strides=strides, padding=padding, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


@export("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")
def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = [1, 1, 1, 1, 1],
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv3d` for its filter, whose shape is `filter_sizes`."""
    return conv3d_backprop_filter_v2_op(
        input, filter_sizes, out_backprop, strides=strides, padding=padding,
        data_format=data_format, dilations=dilations, name=name,
    )  # fmt: skip


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Return the transpose of `conv3d`: the gradient for an input of `output_shape`.

    Args:
      value: [batch, depth, height, width, channels].
      filter: [depth, height, width, output channels, input channels].
      input, filters: the newer names of `value` and `filter`.
    """
    filter = renamed_argument("filters", filters, "filter", filter)
    value = renamed_argument("input", input, "value", value)
    return conv3d_transpose_v2(
        value, filter, output_shape, strides, padding, data_format, dilations, name
    )


@export("compat.v2.nn.conv3d_transpose")
def conv3d_transpose_v2(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv3d_transpose` with the newer order of arguments."""
    with name_scope(name, "conv3d_transpose", [input, filters, output_shape]) as scope:
        data_format = data_format or "NDHWC"
        axis = windows.channel_axis(data_format.encode())
        return conv3d_backprop_input_v2_op(
            output_shape, filters, input,
            strides=windows.sequence(strides, 3, axis, "strides"), padding=padding,
            data_format=data_format,
            dilations=windows.sequence(dilations, 3, axis, "dilations"), name=scope,
        )  # fmt: skip
