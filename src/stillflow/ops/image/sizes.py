"""Checks of the image operations' arguments, and their output shapes."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.node import Node
from stillflow.ops.memory_limits import require_room

# Kernels' names of their input of two sizes, where it is not `shape_t`.
_SIZES = {"CropAndResize": "crop_size", "ScaleAndTranslate": "t", "ExtractGlimpse": "window_size"}


def sized(node: Node, batch: Any, size_input: int, channels: Any) -> tuple[Any, ...]:
    """[batch, height, width, channels], where an input of two integers holds height and width."""
    given = node.dims(size_input)
    if node.planning and given is not None and given != (2,) and dims_lib.is_known(given):
        what = "must have two elements" if len(given) == 1 else "must be 1-dimensional"
        raise ValueError(f"{_SIZES.get(node.op.type, 'shape_t')} {what}{dims_lib.to_string(given)}")
    (count,) = dims_lib.with_rank(given, 1)
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


def check_resize(
    align_corners: bool,
    half_pixel_centers: bool,
    image: Any,
    size: Any,
    dtype: DType = dtypes.float32,
) -> None:
    """Raise the errors of TensorFlow's resizing kernels, for images of dimensions `image`."""
    if half_pixel_centers and align_corners:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    if min(size) <= 0:
        raise ValueError("output dimensions must be positive")
    if image[3] <= 0:
        raise ValueError("image must have at least one channel")
    if image[1] <= 0 or image[2] <= 0:
        raise ValueError("input image must be of non-zero size")
    require_room((image[0], *size, image[3]), dtype)


def check_resize_gradient(
    align_corners: bool, half_pixel_centers: bool, resized: Any, original: Any
) -> None:
    """Raise the errors of the gradients' kernels; both arguments are dimensions of images."""
    if half_pixel_centers and align_corners:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    if resized[1] <= 0 or resized[2] <= 0:
        raise ValueError("resized dimensions must be positive")
    if original[1] <= 0 or original[2] <= 0:
        raise ValueError("original dimensions must be positive")


def same_with_rank_at_least(node: Node, rank: int) -> tuple[int | None, ...] | None:
    """Return the shape of the first input, which has at least `rank` dimensions."""
    return dims_lib.with_rank_at_least(node.dims(0), rank)
