"""Depthwise and separable convolutions, dilated or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.space_to_batch import with_space_to_batch
from stillflow.ops.arrays.shape import shape
from stillflow.ops.nn.conv import conv2d
from stillflow.ops.nn.depthwise import depthwise_conv2d_native
from stillflow.util.renamed import renamed_argument


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Sequence[int],
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolves every channel with filters of its own, which may be dilated.

    Args:
      input: [batch, height, width, channels], or [batch, channels, height, width] under "NCHW".
      filter: [height, width, channels, multiplier].
      rate: dilation along height and width; above 1 only with strides of 1.
      dilations: the newer name of `rate`.

    Returns:
      A tensor with `channels * multiplier` channels.

    Example:
      >>> images, filters = tf.ones([2, 8, 8, 3]), tf.ones([3, 3, 3, 2])
      >>> y = tf.nn.depthwise_conv2d(images, filters, strides=[1, 1, 1, 1], padding="VALID")
      >>> y.shape.as_list()
      [2, 6, 6, 6]
    """
    rate = renamed_argument("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")

        def op(image: Tensor, _: Any, padding: str) -> Tensor:
            return depthwise_conv2d_native(
                image, filter, strides, padding, data_format=data_format, name=scope
            )

        return with_space_to_batch(
            input=input, filter_shape=shape(filter), dilation_rate=[1, 1] if rate is None else rate,
            padding=padding, data_format=data_format, op=op,
        )  # fmt: skip


@export("nn.separable_conv2d")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Sequence[int],
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Return a depthwise convolution, then one of size 1 that mixes the channels.

    Args:
      depthwise_filter: [height, width, channels, multiplier].
      pointwise_filter: [1, 1, channels * multiplier, output channels].

    Others are those of `depthwise_conv2d`.
    """
    rate = renamed_argument("dilations", dilations, "rate", rate)
    values = [input, depthwise_filter, pointwise_filter]
    with name_scope(name, "separable_conv2d", values) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        sizes = pointwise_filter.shape.with_rank(4)
        for axis in (0, 1):
            sizes.dims[axis].assert_is_compatible_with(1)

        def op(image: Tensor, _: Any, padding: str) -> Tensor:
            return depthwise_conv2d_native(
                image, depthwise_filter, strides, padding, data_format=data_format,
                name="depthwise",
            )  # fmt: skip

        depthwise = with_space_to_batch(
            input=input, filter_shape=shape(depthwise_filter),
            dilation_rate=[1, 1] if rate is None else rate, padding=padding,
            data_format=data_format, op=op,
        )  # fmt: skip
        return conv2d(
            depthwise, pointwise_filter, [1, 1, 1, 1], padding="VALID", data_format=data_format,
            name=scope,
        )  # fmt: skip
