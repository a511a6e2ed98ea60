"""Differences of two images: PSNR and structural similarity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.types import convert_image_dtype
from stillflow.nn.separable import depthwise_conv2d
from stillflow.ops.arrays.broadcast import broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.shape import size as size_of
from stillflow.ops.arrays.shape_n import shape_n
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.binary import pow as pow_
from stillflow.ops.math.binary import squared_difference, subtract
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, greater_equal, not_equal
from stillflow.ops.math.reductions import reduce_all, reduce_any, reduce_mean, reduce_prod
from stillflow.ops.math.unary import log, square
from stillflow.ops.nn.activations import relu
from stillflow.ops.nn.pooling_functions import avg_pool
from stillflow.ops.nn.softmax import softmax

_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def verify_compatible_image_shapes(img1: Any, img2: Any) -> tuple[Any, Any, list[Any]]:
    """Return the shapes of two images as tensors, and assertions that they fit together."""
    first, second = (image.get_shape().with_rank_at_least(3) for image in (img1, img2))
    first[-3:].assert_is_compatible_with(second[-3:])
    try:
        broadcast_static_shape(first[:-3], second[:-3])
    except ValueError:
        raise ValueError(f"Two images are not compatible: {first} and {second}") from None
    shape1, shape2 = shape_n([img1, img2])
    check = partial(Assert, data=[shape1, shape2], summarize=10)
    enough = check(greater_equal(size_of(shape1), 3))
    alike = check(reduce_all(equal(shape1[-3:], shape2[-3:])))
    return shape1, shape2, [enough, alike]


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels, `[...]`.

    Args:
      a, b: `[..., height, width, channels]`.
      max_val: the difference of the largest and the smallest value images may have.
      name: of the operation.
    """
    with name_scope(name, "PSNR", [a, b]):
        a, b, peak = _as_floats(a, b, max_val)
        noise = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        signal_decibels = 20 * log(peak) / log(10.0)
        noise_decibels = np.float32(10 / np.log(10)) * log(noise)
        ratio = subtract(signal_decibels, noise_decibels, name="psnr")
        with control_dependencies(verify_compatible_image_shapes(a, b)[-1]):
            return identity(ratio)


def _products(x: Any, y: Any, mean: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
    """Return the means of `2xy` and of `x^2 + y^2`."""
    return mean(x * y) * 2.0, mean(square(x) + square(y))


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
    places, middle = cast(range_(size), sigma.dtype), cast(size - 1, sigma.dtype) / 2.0
    exponents = square(places - middle) * (-0.5 / square(sigma))
    row, column = (reshape(exponents, shape) for shape in ([1, -1], [-1, 1]))
    flat = reshape(row + column, [1, -1])
    return reshape(softmax(flat), [size, size, 1, 1])


def _joined(image: Any, head: Any, tail: Any) -> Tensor:
    return reshape(image, concat([head, tail], 0))


def _blurred(images: Any, kernel: Any) -> Tensor:
    sizes = shape_of(images)
    flat = _joined(images, [-1], sizes[-3:])
    blurred = depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
    return _joined(blurred, sizes[:-3], shape_of(blurred)[1:])


def _by_channel(
    img1: Any, img2: Any, max_val: Any, filter_size: Any, filter_sigma: Any, k1: float, k2: float
) -> tuple[Any, Any]:
    """SSIM, and its part from contrast and structure, for each channel."""
    filter_size = constant(filter_size, dtype=dtypes.int32)
    filter_sigma = constant(filter_sigma, dtype=img1.dtype)
    shapes = shape_n([img1, img2])
    checks = [
        Assert(
            reduce_all(greater_equal(shape[-3:-1], filter_size)),
            [shape, filter_size],
            summarize=8,
        )
        for shape in shapes
    ]
    with control_dependencies(checks):
        img1 = identity(img1)
    kernel = _gaussian(filter_size, filter_sigma)
    kernel = tile(kernel, multiples=[1, 1, shapes[0][-1], 1])
    blurred = partial(_blurred, kernel=kernel)
    luminance, structure = _similarity(img1, img2, blurred, max_val, k1, k2)
    axes = constant([-3, -2], dtype=dtypes.int32)
    whole = reduce_mean(luminance * structure, axes)
    return whole, reduce_mean(structure, axes)


def _as_floats(img1: Any, img2: Any, max_val: Any) -> tuple[Any, Any, Any]:
    max_val = convert_image_dtype(cast(max_val, img1.dtype), dtypes.float32)
    img1 = convert_image_dtype(img1, dtypes.float32)
    return img1, convert_image_dtype(img2, dtypes.float32), max_val


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
    with control_dependencies(checks):
        img1 = identity(img1)
    img1, img2, max_val = _as_floats(img1, img2, max_val)
    by_channel, _ = _by_channel(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
    return reduce_mean(by_channel, [-1])


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
    with name_scope(None, "MS-SSIM", [img1, img2]):
        img1 = convert_to_tensor(img1, name="img1")
        img2 = convert_to_tensor(img2, name="img2")
        shape1, shape2, checks = verify_compatible_image_shapes(img1, img2)
        with control_dependencies(checks):
            img1 = identity(img1)
        img1, img2, max_val = _as_floats(img1, img2, max_val)
        scales = _Scales([img1, img2], [shape1, shape2])
        parts: list[Any] = []
        for index in range(len(power_factors)):
            with name_scope(None, f"Scale{index}", scales.images):
                if index > 0:
                    scales.halve()
                whole, structure = _by_channel(
                    scales.images[0], scales.images[1], max_val, filter_size, filter_sigma, k1, k2
                )
                parts.append(relu(structure))
        # The last scale counts with its luminance.
        parts.pop()
        stacked = stack([*parts, relu(whole)], axis=-1)
        product = reduce_prod(pow_(stacked, power_factors), [-1])
        return reduce_mean(product, [-1])


class _Scales:
    """Two images that become smaller and smaller."""

    def __init__(self, images: list[Any], shapes: list[Any]) -> None:
        self.images = images
        self.heads = [shape[:-3] for shape in shapes]
        self.tails = [shape[-3:] for shape in shapes]
        self.divisor = constant([2, 2, 1], dtype=dtypes.int32)

    def halve(self) -> None:
        flat = [_joined(image, [-1], tail) for image, tail in zip(self.images, self.tails)]
        rest = self.tails[0] % self.divisor
        uneven = reduce_any(not_equal(rest, 0))
        padded = cond(uneven, lambda: _mirrored(flat, rest), lambda: flat)
        window = [1, 2, 2, 1]
        smaller = [
            avg_pool(image, ksize=window, strides=window, padding="VALID") for image in padded
        ]
        self.tails = [shape[1:] for shape in shape_n(smaller)]
        self.images = list(map(_joined, smaller, self.heads, self.tails))


def _mirrored(images: list[Any], rest: Any) -> list[Any]:
    """Return the images with their last row and column repeated where `rest` is 1."""
    padding = pad(expand_dims(rest, -1), [[1, 0], [1, 0]])
    return [pad(image, padding, mode="SYMMETRIC") for image in images]
