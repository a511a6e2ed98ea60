"""Images turned, moved, or put through projective transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow_contrib.ops.image.projective import image_projective_transform_v2_op
from stillflow_contrib.ops.image.transform_matrices import (
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
)

_DTYPES = ("uint8", "int32", "int64", "float16", "float32", "float64")


def _batched(image: Tensor) -> Tensor:
    """Images of two to four dimensions as [batch, height, width, channels].

    Raises:
      TypeError: the type or the rank is another one.
    """
    if image.dtype.base_dtype.name not in _DTYPES:
        raise TypeError(f"Invalid dtype {image.dtype}.")
    rank = image.get_shape().ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank == 2:
        return image[None, :, :, None]
    if rank == 3:
        return image[None, :, :, :]
    if rank == 4:
        return image
    raise TypeError("Images should have rank between 2 and 4.")


def _as_given(output: Any, given: Tensor) -> Tensor:
    rank = given.get_shape().ndims
    if rank == 2:
        return output[0, :, :, 0]
    return output[0, :, :, :] if rank == 3 else output


@export("contrib.image.rotate")
def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Rotate images about their center; pixels from outside are 0.

    Args:
      images: `[height, width]`, `[height, width, channels]` or a batch of the latter.
      angles: counterclockwise, in radians: one, or one for each image.
      interpolation: "NEAREST" or "BILINEAR".
      name: of the scope.

    Raises:
      TypeError: images of another type or rank.
    """
    with tf.name_scope(name, "rotate"):
        given = convert_to_tensor(images)
        images = _batched(given)
        height = tf.cast(tf.shape(images)[1], tf.float32)[None]
        width = tf.cast(tf.shape(images)[2], tf.float32)[None]
        turns = angles_to_projective_transforms(angles, height, width)
        return _as_given(transform(images, turns, interpolation=interpolation), given)


@export("contrib.image.translate")
def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Translate images; pixels from outside are 0.

    Args:
      images: as of `rotate`.
      translations: `[2]` or `[count, 2]`, how far to the right and down.
      interpolation: "NEAREST" or "BILINEAR".
      name: of the scope.
    """
    with tf.name_scope(name, "translate"):
        moves = translations_to_projective_transforms(translations)
        return transform(images, moves, interpolation=interpolation)


@export("contrib.image.angles_to_projective_transforms")
def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """Return the transforms that turn images, `[count, 8]`.

    Args:
      angles: in radians, of rank 0 or 1.
      image_height, image_width: of the images, floating-point.
      name: of the scope.

    Raises:
      TypeError: angles of another rank.
    """
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = convert_to_tensor(angles, name="angles", dtype=tf.float32)
        rank = len(angles.get_shape())
        if rank > 1:
            raise TypeError("Angles should have rank 0 or 1.")
        if rank == 0:
            angles = angles[None]

        def cos() -> Tensor:
            return tf.cos(angles)

        def sin() -> Tensor:
            return tf.sin(angles)

        def shift(size: Any, turned_corner: Callable[[], Any]) -> Any:
            """Return the shift after which the center stays where it is."""
            return ((size - 1) - turned_corner()) / 2.0

        right, down = image_width, image_height
        x = shift(right, lambda: cos() * (right - 1) - sin() * (down - 1))
        y = shift(down, lambda: sin() * (right - 1) + cos() * (down - 1))
        count = tf.shape(angles)[0]
        columns = [
            cos()[:, None], -sin()[:, None], x[:, None], sin()[:, None], cos()[:, None],
            y[:, None], tf.zeros((count, 2), tf.float32),
        ]  # fmt: skip
        return tf.concat(columns, axis=1)


@export("contrib.image.translations_to_projective_transforms")
def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """Return the transforms that move images, `[count, 8]`.

    Args:
      translations: `[2]` or `[count, 2]`, how far to the right and down.
      name: of the scope.

    Raises:
      TypeError: another rank.
    """
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moves = convert_to_tensor(translations, name="translations", dtype=tf.float32)
        rank = moves.get_shape().ndims
        if rank is None:
            raise TypeError("translation_or_translations rank must be statically known")
        if rank not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        if rank == 1:
            moves = moves[None]
        count = tf.shape(moves)[0]
        columns = [
            tf.ones((count, 1), tf.float32), tf.zeros((count, 1), tf.float32), -moves[:, 0, None],
            tf.zeros((count, 1), tf.float32), tf.ones((count, 1), tf.float32), -moves[:, 1, None],
            tf.zeros((count, 2), tf.float32),
        ]  # fmt: skip
        return tf.concat(values=columns, axis=1)


def _output_shape(wanted: Any, images: Any) -> Tensor:
    if wanted is None:
        wanted = tf.shape(images)[1:3]
        known = static_value(wanted)
        wanted = wanted if known is None else known
    wanted = convert_to_tensor(wanted, tf.int32, name="output_shape")
    if not wanted.get_shape().is_compatible_with([2]):
        raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
    return wanted


@export("contrib.image.transform")
def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Apply projective transforms to images; pixels from outside are 0.

    With a transform `[a0, a1, a2, b0, b1, b2, c0, c1]` the pixel at `(x, y)` is the one that was
    at `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`, with `k = c0 x + c1 y + 1`.

    Args:
      images: as of `rotate`. Gradients go to them alone.
      transforms: `[8]` or `[count, 8]`.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: height and width of the results; the images' own by default.
      name: of the scope.

    Raises:
      TypeError: images of another type or rank, transforms of another rank.
      ValueError: `output_shape` has another shape.
    """
    with tf.name_scope(name, "transform"):
        given = convert_to_tensor(images, name="images")
        transforms = convert_to_tensor(transforms, name="transforms", dtype=tf.float32)
        images = _batched(given)
        output_shape = _output_shape(output_shape, images)
        rank = transforms.get_shape().ndims
        if rank is None:
            raise TypeError("transform_or_transforms rank must be statically known")
        if rank not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        if rank == 1:
            transforms = transforms[None]
        output = image_projective_transform_v2_op(
            images, transforms, output_shape, interpolation=interpolation.upper()
        )
        return _as_given(output, given)


@export("contrib.image.compose_transforms")
def compose_transforms(*transforms: Any) -> Tensor:
    """Return one transform that is equivalent to several, one after the other.

    Args:
      *transforms: each of the same shape, `[8]` or `[count, 8]`.
    """
    assert transforms, "transforms cannot be empty"
    with tf.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for other in transforms[1:]:
            composed = tf.matmul(composed, flat_transforms_to_matrices(other))
        return matrices_to_flat_transforms(composed)
