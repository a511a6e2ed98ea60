"""Convolutions of sequences, and transposed convolutions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.nn.conv import conv2d_backprop_input_op, conv2d_op
from stillflow.ops.nn.conv3d import conv3d_transpose_v2
from stillflow.ops.nn.windows import channel_axis, sequence
from stillflow.util.renamed import renamed_argument

# ---- one dimension


def _sequence_layout(data_format: str | None, old_names: bool) -> tuple[str, int]:
    """Return the format of images of height 1 that hold sequences, and the axis of their width."""
    if data_format in (None, "NWC") or (old_names and data_format == "NHWC"):
        return "NHWC", 1
    if data_format == "NCW" or (old_names and data_format == "NCHW"):
        return "NCHW", 2
    raise ValueError('data_format must be "NWC" or "NCW".')


@export("nn.conv1d")
def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolves sequences with a filter.

    Args:
      value: [batch, width, channels], or [batch, channels, width] under "NCW".
      filters: [width, input channels, output channels].
      stride, dilations: an integer, or one per dimension.
      padding: "SAME" or "VALID".
      input: the newer name of `value`.

    Raises:
      ValueError: for another data format.

    Example:
      >>> x, filters = tf.ones([2, 10, 3]), tf.ones([5, 3, 16])
      >>> tf.nn.conv1d(x, filters, stride=2, padding="SAME").shape.as_list()
      [2, 5, 16]
    """
    value = renamed_argument("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]) as scope:
        form, axis = _sequence_layout(data_format, old_names=True)
        channel = 3 - axis
        strides = [1, *sequence(stride, 1, channel, "stride")]
        dilations = [1, *sequence(dilations, 1, channel, "dilations")]
        value = expand_dims(value, axis)
        filters = expand_dims(filters, 0)
        result = conv2d_op(
            value, filters, strides=strides, padding=padding, use_cudnn_on_gpu=use_cudnn_on_gpu,
            data_format=form, dilations=dilations, name=scope,
        )  # fmt: skip
        return squeeze(result, [axis])


@export("nn.conv1d_transpose", "contrib.nn.conv1d_transpose")
def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the transpose of `conv1d`: the gradient for an input of `output_shape`.

    Args:
      input: [batch, width, channels], or [batch, channels, width] under "NCW".
      filters: [width, output channels, input channels].
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        form, axis = _sequence_layout(data_format, old_names=False)
        channel = 3 - axis
        strides = [1, *sequence(strides, 1, channel, "stride")]
        dilations = [1, *sequence(dilations, 1, channel, "dilations")]
        input = expand_dims(input, axis)
        filters = expand_dims(filters, 0)
        if not isinstance(output_shape, Tensor):
            output_shape = list(output_shape)
        sizes = concat([output_shape[:axis], [1], output_shape[axis:]], 0)
        result = conv2d_backprop_input_op(
            sizes, filters, input, strides=strides, padding=padding, data_format=form,
            dilations=dilations, name=scope,
        )  # fmt: skip
        return squeeze(result, axis)


# ---- two dimensions


@export("nn.conv2d_transpose")
def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Return the transpose of `conv2d`: the gradient for an input of `output_shape`.

    Args:
      value: [batch, height, width, channels], or channels second under "NCHW".
      filter: [height, width, output channels, input channels].
      input, filters: the newer names of `value` and `filter`.

    Example:
      >>> images, filters = tf.ones([2, 4, 4, 16]), tf.ones([3, 3, 8, 16])
      >>> tf.nn.conv2d_transpose(images, filters, output_shape=[2, 8, 8, 8], strides=[1, 2, 2, 1])
      <tf.Tensor 'conv2d_transpose:0' shape=(2, 8, 8, 8) dtype=float32>
    """
    image = renamed_argument("input", input, "value", value)
    tensors = image, renamed_argument("filters", filters, "filter", filter), output_shape
    with name_scope(name, "conv2d_transpose", list(tensors)) as scope:
        return conv2d_transpose_v2(*tensors, strides, padding, data_format, dilations, scope)


@export("compat.v2.nn.conv2d_transpose")
def conv2d_transpose_v2(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """`conv2d_transpose` with the newer order of arguments."""
    with name_scope(name, "conv2d_transpose", [input, filters, output_shape]) as scope:
        data_format = data_format or "NHWC"
        axis = channel_axis(data_format.encode())
        return conv2d_backprop_input_op(
            output_shape, filters, input, strides=sequence(strides, 2, axis, "strides"),
            padding=padding, data_format=data_format,
            dilations=sequence(dilations, 2, axis, "dilations"), name=scope,
        )  # fmt: skip


@export("nn.conv_transpose")
def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Transpose a convolution of one, two or three dimensions, by the length of `output_shape`.

    Raises:
      ValueError: if `output_shape` has no length or one that is not 3, 4 or 5.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        if isinstance(output_shape, Tensor):
            count = int(output_shape.shape[0]) - 2
        elif hasattr(output_shape, "__len__"):
            count = len(output_shape) - 2
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if not 1 <= count <= 3:
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {count + 2}.")
        function = (conv1d_transpose, conv2d_transpose_v2, conv3d_transpose_v2)[count - 1]
        return function(
            input, filters, output_shape, strides, padding=padding, data_format=data_format,
            dilations=dilations, name=scope,
        )  # fmt: skip
