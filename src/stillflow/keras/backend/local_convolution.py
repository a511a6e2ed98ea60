"""Convolutions whose kernel differs from place to place."""

from __future__ import annotations

import itertools
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.products import batch_dot
from stillflow.keras.backend.shaping import concatenate, data_format_or_default


def local_conv(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any,
    data_format: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a convolution with a kernel of its own for each place of the output.

    The kernel is [places, kernel sizes and channels, output channels].
    """
    first = data_format_or_default(data_format) == "channels_first"
    _, features, channels = kernel.shape.as_list()
    output_shape = tuple(int(size) for size in output_shape)
    rank = len(output_shape)
    whole, patches = slice(None), []
    for place in itertools.product(*map(range, output_shape)):
        starts = [at * stride for at, stride in zip(place, strides, strict=True)]
        window = [slice(at, at + n) for at, n in zip(starts, kernel_size, strict=True)]
        part = inputs[(whole, whole, *window) if first else (whole, *window, whole)]
        patches.append(tf.reshape(part, (1, -1, features)))
    output = batch_dot(concatenate(patches, axis=0), kernel)
    output = tf.reshape(output, (*output_shape, -1, channels))
    sizes = range(rank)
    order = (rank, rank + 1, *sizes) if first else (rank, *sizes, rank + 1)
    return tf.transpose(output, perm=order)


@export("keras.backend.local_conv1d")
def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None
) -> Tensor:
    """Return a convolution of sequences with a kernel of its own for each place.

    Args:
      inputs: [batch, steps, channels] or [batch, channels, steps].
      kernel: [output steps, kernel size * channels, output channels].
      kernel_size, strides: tuples of one number.
      data_format: where the channels are.

    Raises:
      ValueError: if the format is none.
    """
    return local_conv(inputs, kernel, kernel_size, strides, (kernel.shape[0],), data_format)


@export("keras.backend.local_conv2d")
def local_conv2d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any,
    data_format: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a convolution of images with a kernel of its own for each place.

    Args:
      inputs: [batch, height, width, channels] or [batch, channels, height, width].
      kernel: [output height * output width, kernel height * kernel width * channels, output
        channels].
      kernel_size, strides, output_shape: two numbers each.
      data_format: where the channels are.

    Raises:
      ValueError: if the format is none.
    """
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)


def make_2d(tensor: Any, split_dim: int) -> Tensor:
    """Return a matrix of a tensor's elements, with dimensions from `split_dim` on in columns."""
    sizes = tf.shape(tensor)
    rows, columns = sizes[:split_dim], sizes[split_dim:]
    return tf.reshape(tensor, (tf.reduce_prod(rows), tf.reduce_prod(columns)))
