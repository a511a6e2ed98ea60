"""Resizing images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import constant_value_as_shape
from stillflow.image.checks import batched, check_at_least_3d, dimensions, ensure
from stillflow.image.crops import maximum, pad_to_bounding_box
from stillflow.ops.arrays.shape import squeeze
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.image.resizing import RESIZERS
from stillflow.ops.math.binary import minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import floor
from stillflow.ops.math.unary import round as round_


@export("image.ResizeMethod")
class ResizeMethodV1:
    """Interpolation methods of `tf.image.resize_images`.

    Example:
      >>> method = tf.image.ResizeMethod.NEAREST_NEIGHBOR
      >>> image = tf.image.resize_images(tf.constant([[[1], [2]]]), [1, 4], method=method)
      >>> print(tf.Session().run(image).ravel())
      [1 1 2 2]
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


# The numbers of TF1, and the names that TF2 has for the same.
_METHODS: dict[Any, str] = {
    0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area",
    "bilinear": "bilinear", "nearest": "nearest", "bicubic": "bicubic", "area": "area",
}  # fmt: skip


def _as_size(size: Any) -> Tensor:
    try:
        tensor = convert_to_tensor(size, dtypes.int32, name="size")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not tensor.get_shape().is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return tensor


def _known_size(size: Any) -> tuple[int | None, int | None]:
    dims = constant_value_as_shape(size).dims
    return dims[0].value, dims[1].value


def _within(images: Any, height: Any, width: Any) -> Tensor:
    """Return the largest size within height and width that keeps the aspect ratio."""
    sizes = dimensions(images, rank=4)[1:3]
    ratios = [
        cast(wanted, dtypes.float32) / cast(size, dtypes.float32)
        for wanted, size in zip((height, width), sizes)
    ]
    factor = minimum(*ratios)
    scaled = (round_(factor * cast(size, dtypes.float32)) for size in sizes)
    return convert_to_tensor([cast(x, dtypes.int32) for x in scaled], dtypes.int32, name="size")


def resize_by(
    resizer: Callable[[Any, Any], Any], images: Any, size: Any, preserve_aspect_ratio: bool,
    name: str | None, even_if_same: bool = False,
) -> Tensor:  # fmt: skip
    """Resize images by a function of a batch and its new size.

    Images that already have the size stay as they are, unless `even_if_same`.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        rank = images.get_shape().ndims
        if rank is None:
            raise ValueError("'images' contains no shape.")
        if rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        images, is_batch = batched(images)
        _, height, width, _ = images.get_shape().as_list()
        size = _as_size(size)
        wanted = _known_size(size)
        if preserve_aspect_ratio:
            size = _within(images, *wanted)
            wanted = _known_size(size)
        if even_if_same or None in (*wanted, height, width) or wanted != (height, width):
            images = resizer(images, size)
            images.set_shape([None, *wanted, None])
        return images if is_batch else squeeze(images, axis=[0])


@export("image.resize_images", "image.resize")
def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size.

    Args:
      images: `[height, width, channels]` or a batch of such.
      size: new height and width, int32.
      method: one of `tf.image.ResizeMethod`; all but nearest neighbour give single precision.
        Images that already have that size are given back as they are.
      align_corners: whether the pixels in the corners stay in the corners.
      preserve_aspect_ratio: whether `size` is the most that images may have.
      name: of the operation.

    Raises:
      ValueError: unknown rank, or another one; a bad size; an unknown method.

    Example:
      >>> images = tf.ones([8, 32, 32, 3])
      >>> tf.image.resize_images(images, [64, 48], method=tf.image.ResizeMethod.BICUBIC)
      <tf.Tensor 'resize/ResizeBicubic:0' shape=(8, 64, 48, 3) dtype=float32>
    """

    def resizer(batch: Any, new_size: Any) -> Tensor:
        if method not in _METHODS:
            raise ValueError("Resize method is not implemented.")
        return RESIZERS[_METHODS[method]](batch, new_size, align_corners=align_corners)

    return resize_by(resizer, images, size, preserve_aspect_ratio, name)


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Return the image resized without distortion to fit a size, and padded with zeros to it.

    Args:
      image: `[height, width, channels]` or a batch of such.
      target_height, target_width: the size.
      method: one of `tf.image.ResizeMethod`.
      align_corners: whether the pixels in the corners stay in the corners.

    Raises:
      ValueError: the size is not positive.
    """

    def resizer(batch: Any, size: Any) -> Tensor:
        return resize_images(batch, size, method, align_corners=align_corners)

    return resize_with_pad_by(resizer, image, target_height, target_width)


def resize_with_pad_by(
    resizer: Callable[[Any, Any], Any], image: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Resizes an image by a function of a batch and its new size, and pads it with zeros."""
    with name_scope(None, "resize_image_with_pad", [image]):
        image, is_batch = batched(convert_to_tensor(image, name="image"))
        checks = check_at_least_3d(image)
        checks += ensure(target_width > 0, "target_width must be > 0.")
        checks += ensure(target_height > 0, "target_height must be > 0.")
        image = with_dependencies(checks, image)
        size, top, left = _fitting(image, target_height, target_width)
        padded: Any = pad_to_bounding_box(
            resizer(image, size), top, left, target_height, target_width
        )
        if padded.get_shape().ndims is None:
            raise ValueError("padded contains no shape.")
        dimensions(padded, rank=4)
        return padded if is_batch else squeeze(padded, axis=[0])


def _fitting(image: Any, target_height: Any, target_width: Any) -> tuple[list[Any], Any, Any]:
    """Return the size that fits, and how much is left above and to the left."""
    _, height, width, _ = dimensions(image, rank=4)
    height, width, full_height, full_width = (
        cast(size, dtypes.float64) for size in (height, width, target_height, target_width)
    )
    ratio = maximum(width / full_width, height / full_height)
    fitting_height = height / ratio
    fitting_width = width / ratio
    size = [cast(floor(fitting), dtypes.int32) for fitting in (fitting_height, fitting_width)]
    rest_height = (full_height - fitting_height) / 2
    rest_width = (full_width - fitting_width) / 2
    floors = [floor(rest_height), floor(rest_width)]
    top, left = (maximum(0, cast(rest, dtypes.int32)) for rest in floors)
    return size, top, left


@export("image.resize_area")
def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Each pixel the mean of the area it covers, in single precision.

    Args:
      images: `[batch, height, width, channels]`.
      size: new height and width.
      align_corners: whether the pixels in the corners stay in the corners.
      name: of the operation.
    """
    return RESIZERS["area"](images, size, align_corners=align_corners, name=name)


@export("image.resize_bicubic")
def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by cubic interpolation of 4x4 neighbours, in single precision.

    Args:
      images: `[batch, height, width, channels]`.
      size: new height and width.
      align_corners: whether the pixels in the corners stay in the corners.
      name: of the operation.
      half_pixel_centers: whether pixels lie at 0.5, 1.5, ...
    """
    return RESIZERS["bicubic"](
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_bilinear")
def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by linear interpolation of 2x2 neighbours, in single precision.

    Args:
      images: `[batch, height, width, channels]`.
      size: new height and width.
      align_corners: whether the pixels in the corners stay in the corners.
      name: of the operation.
      half_pixel_centers: whether pixels lie at 0.5, 1.5, ...

    Example:
      >>> images = tf.constant([[[[0.0], [8.0]]]])
      >>> print(tf.Session().run(tf.image.resize_bilinear(images, [1, 4])).ravel())
      [0. 4. 8. 8.]
    """
    return RESIZERS["bilinear"](
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_nearest_neighbor")
def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images resized by repeating and leaving out pixels; the type stays.

    Args:
      images: `[batch, height, width, channels]`.
      size: new height and width.
      align_corners: whether the pixels in the corners stay in the corners.
      name: of the operation.
      half_pixel_centers: whether pixels lie at 0.5, 1.5, ...

    Example:
      >>> images = tf.constant([[[[1], [2]]]])
      >>> print(tf.Session().run(tf.image.resize_nearest_neighbor(images, [2, 4]))[0, ..., 0])
      [[1 1 2 2]
       [1 1 2 2]]
    """
    return RESIZERS["nearest"](
        images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )
