"""Convolution and pooling as `tf.keras.backend` has them.

Channels first is transposed, as TensorFlow does without a GPU.
"""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import image_data_format
from stillflow.keras.backend.shaping import temporal_padding


def _channels_first(data_format: Any) -> bool:
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    return bool(data_format == "channels_first")


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def _channels_last(x: Any, is_first: bool) -> Any:
    rank = x.shape.ndims
    return tf.transpose(x, (0, *range(2, rank), 1)) if is_first else x


def _as_given(x: Any, was_first: bool) -> Tensor:
    rank = x.shape.ndims
    return tf.transpose(x, (0, rank - 1, *range(1, rank - 1))) if was_first else x


def _convolved(
    x: Any, kernel: Any, strides: Any, padding: str, data_format: Any, rate: Any, formatted: str
) -> Tensor:
    first = _channels_first(data_format)
    y = tf.nn.convolution(
        input=_channels_last(x, first), filter=kernel, dilation_rate=rate, strides=strides,
        padding=_padding(padding), data_format=formatted,
    )  # fmt: skip
    return _as_given(y, first)


@export("keras.backend.conv1d")
def conv1d(
    x: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: Any = None,
    dilation_rate: int = 1,
) -> Tensor:  # fmt: skip
    """Return a convolution along one axis; `padding` may be "causal" too."""
    if padding == "causal":
        x = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0))
        padding = "valid"
    strides = strides if isinstance(strides, (list, tuple)) else (strides,)
    return _convolved(x, kernel, strides, padding, data_format, (dilation_rate,), "NWC")


@export("keras.backend.conv2d")
def conv2d(
    x: Any, kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: Any = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Return a convolution along two axes."""
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, "NHWC")


@export("keras.backend.conv3d")
def conv3d(
    x: Any, kernel: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: Any = None, dilation_rate: Any = (1, 1, 1),
) -> Tensor:  # fmt: skip
    """Return a convolution along three axes."""
    return _convolved(x, kernel, strides, padding, data_format, dilation_rate, "NDHWC")


@export("keras.backend.conv2d_transpose")
def conv2d_transpose(
    x: Any, kernel: Any, output_shape: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: Any = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Return the transpose of a convolution along two axes.

    Args:
      x: the input.
      kernel: [height, width, output channels, input channels].
      output_shape: of the result; its first entry may be None.
      strides, padding, data_format, dilation_rate: of the convolution.
    """
    first = _channels_first(data_format)
    if first:
        output_shape = [output_shape[0], *output_shape[2:4], output_shape[1]]
    if isinstance(output_shape, (tuple, list)):
        sizes = list(output_shape)
        output_shape = tf.stack([tf.shape(x)[0] if sizes[0] is None else sizes[0], *sizes[1:]])
    x = _channels_last(x, first)
    if tuple(dilation_rate) == (1, 1):
        y = tf.nn.conv2d_transpose(
            x, kernel, output_shape, (1, *strides, 1), padding=_padding(padding)
        )
    else:
        assert dilation_rate[0] == dilation_rate[1]
        y = tf.nn.atrous_conv2d_transpose(
            x, kernel, output_shape, rate=dilation_rate[0], padding=_padding(padding)
        )
    return _as_given(y, first)


@export("keras.backend.separable_conv2d")
def separable_conv2d(
    x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = (1, 1),
    padding: str = "valid", data_format: Any = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Return a convolution of each channel, then one of single points.

    Raises:
      ValueError: if there are not two strides, or the format is none.
    """
    first = _channels_first(data_format)
    if len(strides) != 2:
        raise ValueError("`strides` must be a tuple of 2 integers.")
    y = tf.nn.separable_conv2d(
        _channels_last(x, first), depthwise_kernel, pointwise_kernel, strides=(1, *strides, 1),
        padding=_padding(padding), rate=dilation_rate,
    )  # fmt: skip
    return _as_given(y, first)


def depthwise_conv2d(
    x: Any, depthwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: Any = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Convolve each channel along two axes with filters of its own.

    `depthwise_kernel` is [height, width, input channels, filters of a channel], `strides` a tuple.
    ValueError for an unknown format.
    """
    first = _channels_first(data_format)
    # A list of strides does not add up with a tuple, as in TensorFlow.
    strides = (1,) + strides + (1,)
    y = tf.nn.depthwise_conv2d(
        _channels_last(x, first), depthwise_kernel, strides=strides, padding=_padding(padding),
        rate=dilation_rate, data_format="NHWC",
    )  # fmt: skip
    return _as_given(y, first)


def _pooled(
    x: Any, sizes: Any, strides: Any, padding: str, data_format: Any, kinds: dict[str, Any],
    mode: str,
) -> Tensor:  # fmt: skip
    first = _channels_first(data_format)
    if mode not in kinds:
        raise ValueError(f"Invalid pooling mode: {mode}")
    x = _channels_last(x, first)
    y = kinds[mode](x, (1, *sizes, 1), (1, *strides, 1), padding=_padding(padding))
    return _as_given(y, first)


@export("keras.backend.pool2d")
def pool2d(
    x: Any, pool_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: Any = None, pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """Return the largest ("max") or the mean ("avg") of windows along two axes.

    Raises:
      ValueError: if there are not two sizes and strides, or the format or the mode is none.
    """
    for name, value in (("pool_size", pool_size), ("strides", strides)):
        if len(value) != 2:
            raise ValueError(f"`{name}` must be a tuple of 2 integers.")
    kinds = {"max": tf.nn.max_pool, "avg": tf.nn.avg_pool}
    return _pooled(x, pool_size, strides, padding, data_format, kinds, pool_mode)


@export("keras.backend.pool3d")
def pool3d(
    x: Any, pool_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: Any = None, pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """Return the largest ("max") or the mean ("avg") of windows along three axes.

    Raises:
      ValueError: if the format or the mode is none.
    """
    kinds = {"max": tf.nn.max_pool3d, "avg": tf.nn.avg_pool3d}
    return _pooled(x, pool_size, strides, padding, data_format, kinds, pool_mode)
