"""Functions of `tf.compat.v2.image` that differ from `tf.image`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed
from stillflow.image.resizing import resize_by, resize_with_pad_by
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape
from stillflow.ops.image import drawing
from stillflow.ops.image.boxes import sample_distorted_bounding_box as _sample_v1
from stillflow.ops.image.cropping import crop_and_resize_op
from stillflow.ops.image.glimpses import extract_glimpse_op
from stillflow.ops.image.resizing import RESIZERS
from stillflow.ops.image.scaling import scale_and_translate_op
from stillflow.ops.math.cast import cast
from stillflow.util.newer_arguments import handed_on


@export("compat.v2.image.ResizeMethod")
class ResizeMethod:
    """Interpolation methods of `tf.compat.v2.image.resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# The sampling kernels of methods: of all that have one, and where aliasing is to be avoided.
_SAMPLED = ("lanczos3", "lanczos5", "gaussian", "mitchellcubic")
_ANTIALIASED = {"bilinear": "triangle", "bicubic": "keyscubic"}


def _resized(images: Any, size: Any, method: Any, antialias: bool) -> Tensor:
    kernel = method if method in _SAMPLED else antialias and _ANTIALIASED.get(method)
    if kernel:
        wanted = cast(size, dtypes.float32)
        scale = wanted / cast(shape(images)[1:3], dtypes.float32)
        return scale_and_translate_op(
            images, size, scale, zeros([2]), kernel_type=kernel, antialias=antialias
        )
    if method not in RESIZERS:
        raise ValueError("Resize method is not implemented.")
    centers = {} if method == "area" else {"half_pixel_centers": True}
    return RESIZERS[method](images, size, **centers)  # type: ignore[arg-type]


@export("compat.v2.image.resize")
def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, pixels being taken to lie at 0.5, 1.5, ...

    Args:
      images: `[height, width, channels]` or a batch of such.
      size: new height and width, int32.
      method: one of `tf.compat.v2.image.ResizeMethod`.
      preserve_aspect_ratio: whether `size` is the most that images may have.
      antialias: whether images are smoothed as they are made smaller.
      name: of the operation.

    Raises:
      ValueError: unknown rank, or another one; a bad size; an unknown method.
    """
    return resize_by(
        lambda batch, new_size: _resized(batch, new_size, method, antialias),
        images, size, preserve_aspect_ratio, name, even_if_same=True,
    )  # fmt: skip


@export("compat.v2.image.resize_with_pad")
def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Return the image resized without distortion to fit a size, and padded with zeros to it.

    Args:
      image: `[height, width, channels]` or a batch of such.
      target_height, target_width: the size.
      method, antialias: as of `resize_images`.

    Raises:
      ValueError: the size is not positive.
    """
    return resize_with_pad_by(
        lambda batch, size: resize_images(batch, size, method, antialias=antialias),
        image, target_height, target_width,
    )  # fmt: skip


@export("compat.v2.image.crop_and_resize")
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
) -> Tensor:
    """Boxes cut out of images and resized to one size; see `tf.image.crop_and_resize`."""
    return crop_and_resize_op(
        image, boxes, box_indices, crop_size, method=method,
        extrapolation_value=extrapolation_value, name=name,
    )  # fmt: skip


@export("compat.v2.image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return a box at random that covers enough of an object.

    See `tf.image`, which has two seeds.
    """
    seeds = get_seed(seed) if seed else (0, 0)
    return _sample_v1(
        image_size, bounding_boxes, *seeds, min_object_covered, aspect_ratio_range, area_range,
        max_attempts, use_image_if_no_bounding_boxes, name,
    )  # fmt: skip


@export("compat.v2.image.extract_glimpse")
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """Windows around given places of images; see `tf.image.extract_glimpse`.

    Args:
      noise: what is seen outside an image: "uniform", "gaussian" or "zero".
    """
    return extract_glimpse_op(
        input, size, offsets, centered=centered, normalized=normalized, noise=noise,
        uniform_noise=False, name=name,
    )  # fmt: skip


draw_bounding_boxes = export("compat.v2.image.draw_bounding_boxes")(
    handed_on("images, boxes, colors, name=None", drawing, "draw_bounding_boxes")
)
