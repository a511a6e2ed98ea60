"""Cutting images out and padding them with zeros."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.checks import batched, check_at_least_3d, dimensions, ensure, is_tensor
from stillflow.ops.arrays.pad import pad as pad_
from stillflow.ops.arrays.shape import reshape, squeeze
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.math import binary
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal


def _size_of(image: Any, axis: int) -> tuple[Any, bool]:
    known = image.get_shape().dims[axis].value
    return (known, False) if known is not None else (shape_of(image)[axis], True)


def _start_of(size: Any, dynamic: bool, fraction: float) -> Tensor | int:
    if dynamic:
        whole = cast(size, dtypes.float64)
        return cast((whole - whole * fraction) / 2, dtypes.int32)
    return int((float(size) - float(size) * fraction) / 2)


@export("image.central_crop")
def central_crop(image: Any, central_fraction: float) -> Tensor:
    """Return the middle of an image.

    Args:
      image: `[height, width, channels]` or a batch of such.
      central_fraction: which part of height and width is left, in (0, 1].

    Raises:
      ValueError: the fraction is outside that, or the rank is neither 3 nor 4.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        with_dependencies(check_at_least_3d(image), image)
        rank = image.get_shape().ndims
        if rank not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}."
            )
        first = rank - 3
        shape = image.get_shape()
        (height, dynamic_h), (width, dynamic_w) = (
            _size_of(image, axis) for axis in (first, first + 1)
        )
        top = _start_of(height, dynamic_h, central_fraction)
        left = _start_of(width, dynamic_w, central_fraction)
        rows = height - top * 2
        columns = width - left * 2
        begin = stack([0] * first + [top, left, 0])
        size = stack([-1] * first + [rows, columns, -1])
        image = slice_(image, begin, size)
        known = [None if dynamic_h else rows, None if dynamic_w else columns, shape[-1]]
        image.set_shape([shape[0]] * first + known)
        return image


def _known(sizes: list[Any]) -> list[Any]:
    return [None if is_tensor(size) else size for size in sizes]


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Return the image with zeros around it.

    Args:
      image: `[height, width, channels]` or a batch of such.
      offset_height, offset_width: how many rows of zeros go above, and columns to the left.
      target_height, target_width: of the result.

    Raises:
      ValueError: the image does not fit.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, is_batch = batched(convert_to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        batch, height, width, depth = dimensions(image, rank=4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += ensure(offset_height >= 0, "offset_height must be >= 0")
        checks += ensure(offset_width >= 0, "offset_width must be >= 0")
        checks += ensure(right >= 0, "width must be <= target - offset")
        checks += ensure(below >= 0, "height must be <= target - offset")
        image = with_dependencies(checks, image)
        flat = stack([0, 0, offset_height, below, offset_width, right, 0, 0])
        padded: Any = pad_(image, reshape(flat, [4, 2]))
        padded.set_shape(_known([batch, target_height, target_width, depth]))
        return padded if is_batch else squeeze(padded, axis=[0])


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Return a rectangle of the image.

    Args:
      image: `[height, width, channels]` or a batch of such.
      offset_height, offset_width: its upper left corner.
      target_height, target_width: its size.

    Raises:
      ValueError: the rectangle is empty or not inside the image.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, is_batch = batched(convert_to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        batch, height, width, depth = dimensions(image, rank=4)
        checks += ensure(offset_width >= 0, "offset_width must be >= 0.")
        checks += ensure(offset_height >= 0, "offset_height must be >= 0.")
        checks += ensure(target_width > 0, "target_width must be > 0.")
        checks += ensure(target_height > 0, "target_height must be > 0.")
        checks += ensure(
            width >= (target_width + offset_width), "width must be >= target + offset."
        )
        checks += ensure(
            height >= (target_height + offset_height), "height must be >= target + offset."
        )
        image = with_dependencies(checks, image)
        cropped: Any = slice_(
            image,
            stack([0, offset_height, offset_width, 0]),
            stack([-1, target_height, target_width, -1]),
        )
        cropped.set_shape(_known([batch, target_height, target_width, depth]))
        return cropped if is_batch else squeeze(cropped, axis=[0])


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two numbers, either of which may be a tensor."""
    return binary.maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def _minimum(x: Any, y: Any) -> Tensor | int:
    return binary.minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def _equal(x: Any, y: Any) -> Any:
    return equal(x, y) if is_tensor(x) or is_tensor(y) else x == y


@export("image.resize_with_crop_or_pad", "image.resize_image_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Return the image cut or padded with zeros, evenly on both sides, to a size.

    Args:
      image: `[height, width, channels]` or a batch of such.
      target_height, target_width: the size.

    Raises:
      ValueError: the size is not positive.

    Example:
      >>> image = tf.reshape(tf.range(1, 5), [1, 4, 1])
      >>> print(tf.Session().run(tf.image.resize_image_with_crop_or_pad(image, 3, 2))[..., 0])
      [[0 0]
       [2 3]
       [0 0]]
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, is_batch = batched(convert_to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        checks += ensure(target_width > 0, "target_width must be > 0.")
        checks += ensure(target_height > 0, "target_height must be > 0.")
        image = with_dependencies(checks, image)
        if is_tensor(target_height):
            target_height = with_dependencies(checks, target_height)
        if is_tensor(target_width):
            target_width = with_dependencies(checks, target_width)
        resized = _crop_and_pad(image, target_height, target_width)
        return resized if is_batch else squeeze(resized, axis=[0])


def _crop_and_pad(image: Any, *target: Any) -> Tensor:
    sizes = dimensions(image, rank=4)[1:3]
    cut, pad = [None, None], [None, None]
    for side in (1, 0):  # the width's operations come first
        spare = target[side] - sizes[side]
        cut[side] = maximum(-spare // 2, 0)
        pad[side] = maximum(spare // 2, 0)
    cropped = crop_to_bounding_box(image, *cut, *map(_minimum, target, sizes))
    resized: Any = pad_to_bounding_box(cropped, *pad, *target)
    checks = []
    for name, size, wanted in zip(("height", "width"), dimensions(resized, rank=4)[1:3], target):
        checks += ensure(_equal(size, wanted), f"resized {name} is not correct.")
    return with_dependencies(checks, resized)
