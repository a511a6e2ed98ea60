"""Differences between neighbouring pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

_SOBEL = [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]]


@export("image.total_variation")
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Return the sum of the absolute differences of neighbouring pixels.

    Args:
      images: `[height, width, channels]`, which gives a scalar, or a batch of such, which gives
        `[batch]`.
      name: of the operation.

    Raises:
      ValueError: the rank is another one.
    """
    with tf.name_scope(name, "total_variation"):
        rank = images.get_shape().ndims
        if rank == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            across = images[:, 1:, :] - images[:, :-1, :]
            axes = None
        elif rank == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            across = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        first = tf.reduce_sum(tf.abs(down), axis=axes)
        return first + tf.reduce_sum(tf.abs(across), axis=axes)


@export("image.image_gradients")
def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Return the differences of neighbours below and to the right, 0 in the last row and column.

    Args:
      image: `[batch, height, width, channels]`.

    Returns:
      (dy, dx), each of the same shape.

    Raises:
      ValueError: the rank is not 4.
    """
    if image.get_shape().ndims != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not %s.", image.get_shape()
        )
    sizes = tf.shape(image)
    batch, height, width, depth = tf.unstack(sizes)
    dy = image[:, 1:, :, :] - image[:, :-1, :, :]
    dx = image[:, :, 1:, :] - image[:, :, :-1, :]
    shape = tf.stack([batch, 1, width, depth])
    dy = tf.reshape(tf.concat([dy, tf.zeros(shape, image.dtype)], 1), sizes)
    shape = tf.stack([batch, height, 1, depth])
    dx = tf.reshape(tf.concat([dx, tf.zeros(shape, image.dtype)], 2), sizes)
    return dy, dx


@export("image.sobel_edges")
def sobel_edges(image: Any) -> Tensor:
    """Sobel's filters for edges.

    Args:
      image: `[batch, height, width, channels]`, floating point.

    Returns:
      `[batch, height, width, channels, 2]`: the slopes downwards and to the right.
    """
    static = image.get_shape()
    sizes = tf.shape(image)
    filters = np.expand_dims(np.transpose(np.asarray(_SOBEL), (1, 2, 0)), -2)
    kernels = tf.constant(filters, dtype=image.dtype)
    kernels = tf.tile(kernels, [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    output: Any = tf.nn.depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    output = tf.reshape(output, shape=tf.concat([sizes, [len(_SOBEL)]], 0))
    output.set_shape(static.concatenate([len(_SOBEL)]))
    return output
