"""Differences of two images: PSNR and structural similarity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.types import convert_image_dtype

_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def verify_compatible_image_shapes(img1: Any, img2: Any) -> tuple[Any, Any, list[Any]]:
    """Return the shapes of two images as tensors, and assertions that they fit together."""
    first, second = (image.get_shape().with_rank_at_least(3) for image in (img1, img2))
    first[-3:].assert_is_compatible_with(second[-3:])
    try:
        tf.broadcast_static_shape(first[:-3], second[:-3])
    except ValueError:
        raise ValueError(f"Two images are not compatible: {first} and {second}") from None
    shapes = tf.shape_n([img1, img2])
    check = partial(tf.Assert, data=shapes, summarize=10)
    enough = check(tf.greater_equal(tf.size(shapes[0]), 3))
    alike = check(tf.reduce_all(tf.equal(*(shape[-3:] for shape in shapes))))
    return (*shapes, [enough, alike])


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels, `[...]`.

    Args:
      a, b: `[..., height, width, channels]`.
      max_val: the difference of the largest and the smallest value images may have.
      name: of the operation.
    """
    with tf.name_scope(name, "PSNR", [a, b]):
        a, b, peak = _as_floats(a, b, max_val)
        noise = tf.reduce_mean(tf.squared_difference(a, b), [-3, -2, -1])
        signal_decibels = 20 * tf.log(peak) / tf.log(10.0)
        noise_decibels = np.float32(10 / np.log(10)) * tf.log(noise)
        ratio = tf.subtract(signal_decibels, noise_decibels, name="psnr")
        with tf.control_dependencies(verify_compatible_image_shapes(a, b)[-1]):
            return tf.identity(ratio)


def _products(x: Any, y: Any, mean: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
    """Return the means of `2xy` and of `x^2 + y^2`."""
    return mean(x * y) * 2.0, mean(tf.square(x) + tf.square(y))


def _similarity(
    x: Any, y: Any, blurred: Callable[[Any], Any], max_val: Any, k1: float, k2: float
) -> tuple[Any, Any]:
    """Return the similarity of the means, and of contrast and structure, at every place."""
    c1, c2 = ((k * max_val) ** 2 for k in (k1, k2))
    cross, power = _products(blurred(x), blurred(y))
    luminance = (cross + c1) / (power + c1)
    whole_cross, whole_power = _products(x, y, blurred)
    c2 = c2 * 1.0
    return luminance, (whole_cross - cross + c2) / (whole_power - power + c2)


def _gaussian(size: Any, sigma: Any) -> Tensor:
    """Return a square filter [size, size, 1, 1] whose weights sum to 1."""
    places, middle = tf.cast(tf.range(size), sigma.dtype), tf.cast(size - 1, sigma.dtype) / 2.0
    exponents = tf.square(places - middle) * (-0.5 / tf.square(sigma))
    row, column = (tf.reshape(exponents, shape) for shape in ([1, -1], [-1, 1]))
    flat = tf.reshape(row + column, [1, -1])
    return tf.reshape(tf.nn.softmax(flat), [size, size, 1, 1])


def _joined(image: Any, head: Any, tail: Any) -> Tensor:
    return tf.reshape(image, tf.concat([head, tail], 0))


def _blurred(images: Any, kernel: Any) -> Tensor:
    sizes = tf.shape(images)
    flat = _joined(images, [-1], sizes[-3:])
    blurred = tf.nn.depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
    return _joined(blurred, sizes[:-3], tf.shape(blurred)[1:])


def _by_channel(
    img1: Any, img2: Any, max_val: Any, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Any, Any]:
    """SSIM, and its part from contrast and structure, for each channel."""
    filter_size = tf.constant(filter_size, dtype=tf.int32)
    filter_sigma = tf.constant(filter_sigma, dtype=img1.dtype)
    shapes = tf.shape_n([img1, img2])
    checks = [
        tf.Assert(
            tf.reduce_all(tf.greater_equal(shape[-3:-1], filter_size)),
            [shape, filter_size],
            summarize=8,
        )
        for shape in shapes
    ]
    with tf.control_dependencies(checks):
        img1 = tf.identity(img1)
    kernel = _gaussian(filter_size, filter_sigma)
    kernel = tf.tile(kernel, multiples=[1, 1, shapes[0][-1], 1])
    blurred = partial(_blurred, kernel=kernel)
    luminance, structure = _similarity(img1, img2, blurred, max_val, k1, k2)
    axes = tf.constant([-3, -2], dtype=tf.int32)
    whole = tf.reduce_mean(luminance * structure, axes)
    return whole, tf.reduce_mean(structure, axes)


def _as_floats(img1: Any, img2: Any, max_val: Any) -> tuple[Any, Any, Any]:
    max_val = convert_image_dtype(tf.cast(max_val, img1.dtype), tf.float32)
    img1 = convert_image_dtype(img1, tf.float32)
    return img1, convert_image_dtype(img2, tf.float32), max_val


@export("image.ssim")
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of pairs of images, `[...]`, the mean over channels.

    Args:
      img1, img2: `[..., height, width, channels]`.
      max_val: the difference of the largest and the smallest value images may have.
      filter_size, filter_sigma: of the Gaussian window.
      k1, k2: constants that keep divisors from 0.
    """
    _, _, checks = verify_compatible_image_shapes(img1, img2)
    with tf.control_dependencies(checks):
        img1 = tf.identity(img1)
    img1, img2, max_val = _as_floats(img1, img2, max_val)
    by_channel, _ = _by_channel(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
    return tf.reduce_mean(by_channel, [-1])


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = _WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Structural similarity over several scales, each half as large as the one before.

    Args:
      img1, img2: `[..., height, width, channels]`.
      max_val: the difference of the largest and the smallest value images may have.
      power_factors: the weight of each scale.
      filter_size, filter_sigma: of the Gaussian window.
      k1, k2: constants that keep divisors from 0.
    """
    with tf.name_scope(None, "MS-SSIM", [img1, img2]):
        img1 = convert_to_tensor(img1, name="img1")
        img2 = convert_to_tensor(img2, name="img2")
        shape1, shape2, checks = verify_compatible_image_shapes(img1, img2)
        with tf.control_dependencies(checks):
            img1 = tf.identity(img1)
        img1, img2, max_val = _as_floats(img1, img2, max_val)
        scales = _Scales([img1, img2], [shape1, shape2])
        parts: list[Any] = []
        for index in range(len(power_factors)):
            with tf.name_scope(None, f"Scale{index}", scales.images):
                if index > 0:
                    scales.halve()
                whole, structure = _by_channel(
                    scales.images[0], scales.images[1], max_val, filter_size, filter_sigma, k1, k2
                )
                parts.append(tf.nn.relu(structure))
        # The last scale counts with its luminance.
        parts.pop()
        stacked = tf.stack([*parts, tf.nn.relu(whole)], axis=-1)
        product = tf.reduce_prod(tf.pow(stacked, power_factors), [-1])
        return tf.reduce_mean(product, [-1])


class _Scales:
    """Two images that become smaller and smaller."""

    def __init__(self, images: list[Any], shapes: list[Any]) -> None:
        self.images = images
        self.heads = [shape[:-3] for shape in shapes]
        self.tails = [shape[-3:] for shape in shapes]
        self.divisor = tf.constant([2, 2, 1], dtype=tf.int32)

    def halve(self) -> None:
        flat = [_joined(image, [-1], tail) for image, tail in zip(self.images, self.tails)]
        rest = self.tails[0] % self.divisor
        uneven = tf.reduce_any(tf.not_equal(rest, 0))
        padded = tf.cond(uneven, lambda: _mirrored(flat, rest), lambda: flat)
        window = [1, 2, 2, 1]
        smaller = [
            tf.nn.avg_pool(image, ksize=window, strides=window, padding="VALID") for image in padded
        ]
        self.tails = [shape[1:] for shape in tf.shape_n(smaller)]
        self.images = list(map(_joined, smaller, self.heads, self.tails))


def _mirrored(images: list[Any], rest: Any) -> list[Any]:
    """Return the images with their last row and column repeated where `rest` is 1."""
    padding = tf.pad(tf.expand_dims(rest, -1), [[1, 0], [1, 0]])
    return [tf.pad(image, padding, mode="SYMMETRIC") for image in images]
