"""Differences between neighbouring pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.separable import depthwise_conv2d
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.constants import constant
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as abs_

_SOBEL = [[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]]


def _slope(images: Any, axis: int) -> Tensor:
    """Return the differences of neighbours along an axis, of which there is one less."""
    before = (slice(None),) * axis
    behind = (slice(None),) * (images.get_shape().ndims - axis - 1)
    return images[(*before, slice(1, None), *behind)] - images[(*before, slice(-1), *behind)]


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
    with name_scope(name, "total_variation"):
        rank = images.get_shape().ndims
        if rank not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        slopes = [_slope(images, axis) for axis in (rank - 3, rank - 2)]
        of_one_image = [1, 2, 3] if rank == 4 else None
        down, across = (reduce_sum(abs_(slope), axis=of_one_image) for slope in slopes)
        return down + across


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
    whole = shape(image)
    sizes = unstack(whole)
    slopes = {axis: _slope(image, axis) for axis in (1, 2)}

    def filled(axis: int) -> Tensor:
        edge = zeros(stack([*sizes[:axis], 1, *sizes[axis + 1 :]]), image.dtype)
        return reshape(concat([slopes[axis], edge], axis), whole)

    return filled(1), filled(2)


@export("image.sobel_edges")
def sobel_edges(image: Any) -> Tensor:
    """Sobel's filters for edges.

    Args:
      image: `[batch, height, width, channels]`, floating point.

    Returns:
      `[batch, height, width, channels, 2]`: the slopes downwards and to the right.
    """
    static = image.get_shape()
    sizes = shape(image)
    filters = np.expand_dims(np.transpose(np.asarray(_SOBEL), (1, 2, 0)), -2)
    kernels = constant(filters, dtype=image.dtype)
    kernels = tile(kernels, [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    output: Any = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    output = reshape(output, shape=concat([sizes, [len(_SOBEL)]], 0))
    output.set_shape(static.concatenate([len(_SOBEL)]))
    return output
