"""Brightness, contrast, hue, saturation and the like, by given amounts and at random."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.checks import at_least_3d, ensure, is_tensor
from stillflow.image.types import as_float, convert_image_dtype
from stillflow.ops.arrays.shape import shape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.image.adjusting import (
    adjust_contrastv2_op,
    adjust_hue_op,
    adjust_saturation_op,
)
from stillflow.ops.image.jpeg import decode_jpeg_op, encode_jpeg_variable_quality_op
from stillflow.ops.math.binary import add, maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_mean, reduce_prod, reduce_std
from stillflow.ops.math.unary import rsqrt
from stillflow.ops.random.basic import random_uniform


@export("image.per_image_standardization")
def per_image_standardization(image: Any) -> Tensor:
    """Images with mean 0 and variance 1, each on its own.

    Args:
      image: `[..., height, width, channels]`. The deviation is taken as at least the inverse root
        of the number of values, so that uniform images become 0.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        given = at_least_3d(convert_to_tensor(image, name="image"))
        values = as_float(given)
        count = reduce_prod(shape(values)[-3:])
        mean, deviation = (
            reduced(values, axis=[-1, -2, -3], keepdims=True)
            for reduced in (reduce_mean, reduce_std)
        )
        divisor = maximum(deviation, rsqrt(cast(count, values.dtype)))
        standardized = div(values - mean, divisor, name=scope)
        return convert_image_dtype(standardized, given.dtype, saturate=True)


@export("image.random_brightness")
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by an amount drawn from [-max_delta, max_delta).

    Args:
      image: [..., height, width, channels] of any numeric type.
      max_delta: a float; 1.0 is the range of the type.
      seed: an integer.

    Returns:
      A tensor of the type and shape of `image`.

    Raises:
      ValueError: `max_delta` is negative.

    Example:
      >>> image = tf.zeros([2, 2, 3])
      >>> changed = tf.Session().run(tf.image.random_brightness(image, max_delta=0.2, seed=1))
      >>> bool((changed == changed[0, 0, 0]).all()), bool(abs(changed[0, 0, 0]) < 0.2)
      (True, True)
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    delta = random_uniform([], -max_delta, max_delta, seed=seed)
    return adjust_brightness(image, delta)


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@export("image.random_contrast")
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor drawn from [lower, upper).

    Args:
      image: [..., height, width, channels] of any numeric type.
      lower, upper: floats.
      seed: an integer.

    Returns:
      A tensor of the type and shape of `image`.

    Raises:
      ValueError: that is empty, or `lower` negative.

    Example:
      >>> image = tf.constant([[[1.0], [3.0]]])
      >>> changed = tf.Session().run(tf.image.random_contrast(image, lower=0.5, upper=2.0))
      >>> bool(1.0 <= changed.max() - changed.min() <= 4.0)
      True
    """
    _check_range(lower, upper)
    factor = random_uniform([], lower, upper, seed=seed)
    return adjust_contrast(image, factor)


@export("image.adjust_brightness")
def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Add `delta` to all values, where integers count as values in [0, 1].

    Args:
      image: of any shape.
      delta: a scalar.
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as name:
        image = convert_to_tensor(image, name="image")
        values = as_float(image)
        adjusted = add(values, cast(delta, values.dtype), name=name)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


@export("image.adjust_contrast")
def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Scales the distance of each value from its channel's mean over the image.

    Args:
      images: `[..., height, width, channels]`.
      contrast_factor: a scalar.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as name:
        images = convert_to_tensor(images, name="images")
        adjusted = adjust_contrastv2_op(as_float(images), contrast_factor, name=name)
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


@export("image.adjust_gamma")
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """`gain * image ** gamma`, where integers count as values in [0, 1].

    Raises:
      ValueError: `gamma` is negative.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        values = as_float(image)
        checks = ensure(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * values**gamma, image.dtype, saturate=True)


@export("image.random_hue")
def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by an amount drawn from [-max_delta, max_delta).

    Args:
      image: [..., height, width, 3] in RGB.
      max_delta: a float; 1.0 is the whole circle.
      seed: an integer.

    Returns:
      A tensor of the type and shape of `image`.

    Raises:
      ValueError: `max_delta` is outside [0, 0.5].

    Example:
      >>> red = tf.constant([[[1.0, 0.0, 0.0]]])
      >>> changed = tf.Session().run(tf.image.random_hue(red, max_delta=0.5))
      >>> float(changed.max()), float(changed.min())  # as bright and as saturated as red
      (1.0, 0.0)
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    delta = random_uniform([], -max_delta, max_delta, seed=seed)
    return adjust_hue(image, delta)


@export("image.adjust_hue")
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Turn the hues of RGB images.

    Args:
      image: `[..., height, width, 3]`.
      delta: a scalar, as a part of the circle: within [-1, 1].
      name: of the operation.
    """
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(adjust_hue_op(as_float(image), delta), image.dtype)


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` to a quality drawn from [min_jpeg_quality, max_jpeg_quality).

    Raises:
      ValueError: that is empty or not within [0, 100].
    """
    bounds = (min_jpeg_quality, max_jpeg_quality)
    if min(bounds) < 0 or max(bounds) > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], *bounds, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """Return the image as JPEG coding of a given quality leaves it.

    Args:
      image: `[height, width, channels]` with 1 or 3 channels.
      jpeg_quality: a scalar integer within [0, 100].
      name: of the operation.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        dtype = image.dtype
        image = convert_image_dtype(image, dtypes.uint8)
        if not is_tensor(jpeg_quality):
            jpeg_quality = convert_to_tensor(jpeg_quality, dtype=dtypes.int32)
        image = decode_jpeg_op(encode_jpeg_variable_quality_op(image, jpeg_quality))
        return convert_image_dtype(image, dtype)


@export("image.random_saturation")
def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor drawn from [lower, upper).

    Args:
      image: [..., height, width, 3] in RGB.
      lower, upper: floats.
      seed: an integer.

    Returns:
      A tensor of the type and shape of `image`.

    Raises:
      ValueError: that is empty, or `lower` negative.

    Example:
      >>> red = tf.constant([[[1.0, 0.0, 0.0]]])
      >>> changed = tf.Session().run(tf.image.random_saturation(red, lower=0.25, upper=0.5)).ravel()
      >>> float(changed[0]), bool(0.5 <= changed[1] <= 0.75)  # 1 - saturation
      (1.0, True)
    """
    _check_range(lower, upper)
    factor = random_uniform([], lower, upper, seed=seed)
    return adjust_saturation(image, factor)


@export("image.adjust_saturation")
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiplies the saturations of RGB images.

    Args:
      image: `[..., height, width, 3]`.
      saturation_factor: a scalar.
      name: of the operation.
    """
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        adjusted = adjust_saturation_op(as_float(image), saturation_factor)
        return convert_image_dtype(adjusted, image.dtype)
