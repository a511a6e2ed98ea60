"""What the image operations check of their arguments, and the shapes they give."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.node import Node


def sized(node: Node, batch: Any, size_input: int, channels: Any) -> tuple[Any, ...]:
    """[batch, height, width, channels], where an input of two integers holds height and width."""
    (count,) = dims_lib.with_rank(node.dims(size_input), 1)
    dims_lib.with_value(count, 2)
    size = node.value(size_input)
    if size is None:
        return (batch, None, None, channels)
    height, width = size.tolist()
    return (
        batch,
        dims_lib.make_dim(height, size_input),
        dims_lib.make_dim(width, size_input),
        channels,
    )


def check_resize(align_corners: bool, half_pixel_centers: bool, image: Any, size: Any) -> None:
    """What TensorFlow's resizing kernels refuse.

    Args:
      image: the dimensions of the images.
      size: the wanted height and width.
    """
    if half_pixel_centers and align_corners:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    if min(size) <= 0:
        raise ValueError("output dimensions must be positive")
    if image[3] <= 0:
        raise ValueError("image must have at least one channel")
    if image[1] <= 0 or image[2] <= 0:
        raise ValueError("input image must be of non-zero size")


def check_resize_gradient(
    align_corners: bool, half_pixel_centers: bool, resized: Any, original: Any
) -> None:
    """What the kernels of the gradients refuse; both are dimensions of images."""
    if half_pixel_centers and align_corners:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    if resized[1] <= 0 or resized[2] <= 0:
        raise ValueError("resized dimensions must be positive")
    if original[1] <= 0 or original[2] <= 0:
        raise ValueError("original dimensions must be positive")


def same_with_rank_at_least(node: Node, rank: int) -> Any:
    """The shape of the first input, which has at least `rank` dimensions."""
    return dims_lib.with_rank_at_least(node.dims(0), rank)
