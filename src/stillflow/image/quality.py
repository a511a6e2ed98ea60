"""Differences of two images: PSNR and structural similarity."""

from __future__ import annotations

from collections.abc import Callable
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
    static1 = img1.get_shape().with_rank_at_least(3)
    static2 = img2.get_shape().with_rank_at_least(3)
    static1[-3:].assert_is_compatible_with(static2[-3:])
    if static1.ndims is not None and static2.ndims is not None:
        for dim1, dim2 in zip(reversed(static1.dims[:-3]), reversed(static2.dims[:-3])):
            if not (dim1 == 1 or dim2 == 1 or dim1.is_compatible_with(dim2)):
                raise ValueError(f"Two images are not compatible: {static1} and {static2}")
    shape1, shape2 = tf.shape_n([img1, img2])
    checks = [
        tf.Assert(tf.greater_equal(tf.size(shape1), 3), [shape1, shape2], summarize=10),
        tf.Assert(
            tf.reduce_all(tf.equal(shape1[-3:], shape2[-3:])), [shape1, shape2], summarize=10
        ),
    ]
    return shape1, shape2, checks


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels, `[...]`.

    Args:
      a, b: `[..., height, width, channels]`.
      max_val: the difference of the largest and the smallest value images may have.
      name: of the operation.
    """
    with tf.name_scope(name, "PSNR", [a, b]):
        max_val = convert_image_dtype(tf.cast(max_val, a.dtype), tf.float32)
        a = convert_image_dtype(a, tf.float32)
        b = convert_image_dtype(b, tf.float32)
        error = tf.reduce_mean(tf.squared_difference(a, b), [-3, -2, -1])
        ratio = tf.subtract(
            20 * tf.log(max_val) / tf.log(10.0),
            np.float32(10 / np.log(10)) * tf.log(error),
            name="psnr",
        )
        _, _, checks = verify_compatible_image_shapes(a, b)
        with tf.control_dependencies(checks):
            return tf.identity(ratio)


def _similarity(
    x: Any, y: Any, blurred: Callable[[Any], Any], max_val: Any, k1: float, k2: float
) -> tuple[Any, Any]:
    """Return the similarity of the means, and of contrast and structure, at every place."""
    c1 = (k1 * max_val) ** 2
    c2 = (k2 * max_val) ** 2
    mean_x = blurred(x)
    mean_y = blurred(y)
    product = mean_x * mean_y * 2.0
    squares = tf.square(mean_x) + tf.square(mean_y)
    luminance = (product + c1) / (squares + c1)
    both = blurred(x * y) * 2.0
    each = blurred(tf.square(x) + tf.square(y))
    c2 *= 1.0
    return luminance, (both - product + c2) / (each - squares + c2)


def _gaussian(size: Any, sigma: Any) -> Any:
    """Return a square filter [size, size, 1, 1] whose weights sum to 1."""
    size = convert_to_tensor(size, tf.int32)
    sigma = convert_to_tensor(sigma)
    places = tf.cast(tf.range(size), sigma.dtype)
    places -= tf.cast(size - 1, sigma.dtype) / 2.0
    weights = tf.square(places)
    weights *= -0.5 / tf.square(sigma)
    weights = tf.reshape(weights, shape=[1, -1]) + tf.reshape(weights, shape=[-1, 1])
    weights = tf.nn.softmax(tf.reshape(weights, shape=[1, -1]))
    return tf.reshape(weights, shape=[size, size, 1, 1])


def _blur(kernel: Any) -> Callable[[Any], Any]:
    def blurred(x: Any) -> Any:
        shape = tf.shape(x)
        flat = tf.reshape(x, shape=tf.concat([[-1], shape[-3:]], 0))
        y = tf.nn.depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return tf.reshape(y, tf.concat([shape[:-3], tf.shape(y)[1:]], 0))

    return blurred


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
    luminance, structure = _similarity(img1, img2, _blur(kernel), max_val, k1, k2)
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
        flat = [
            tf.reshape(image, tf.concat([[-1], tail], 0))
            for image, tail in zip(self.images, self.tails)
        ]
        rest = self.tails[0] % self.divisor
        uneven = tf.reduce_any(tf.not_equal(rest, 0))
        padded = tf.cond(uneven, lambda: _mirrored(flat, rest), lambda: flat)
        window = [1, 2, 2, 1]
        smaller = [
            tf.nn.avg_pool(image, ksize=window, strides=window, padding="VALID") for image in padded
        ]
        self.tails = [shape[1:] for shape in tf.shape_n(smaller)]
        self.images = [
            tf.reshape(image, tf.concat([head, tail], 0))
            for image, head, tail in zip(smaller, self.heads, self.tails)
        ]


def _mirrored(images: list[Any], rest: Any) -> list[Any]:
    """Return the images with their last row and column repeated where `rest` is 1."""
    padding = tf.pad(tf.expand_dims(rest, -1), [[1, 0], [1, 0]])
    return [tf.pad(image, padding, mode="SYMMETRIC") for image in images]
