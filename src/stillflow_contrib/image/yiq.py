"""Hue, saturation and value changed in YIQ space, by given amounts and at random."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.image.yiq import adjust_hsv_in_yiq_op


def _check(max_delta_hue: float, ranges: dict[str, tuple[float, float]]) -> None:
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for name, (lower, _) in ranges.items():
        if lower < 0:
            raise ValueError(f"lower_{name} must be non-negative.")
    for name, (lower, upper) in ranges.items():
        if lower > upper:
            raise ValueError(f"lower_{name} must be < upper_{name}.")


def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """`adjust_hsv_in_yiq` by amounts drawn at random.

    Args:
      image: as of `adjust_hsv_in_yiq`.
      max_delta_hue: hues turn by at most so many radians either way.
      lower_saturation, upper_saturation: the bounds of the factor of saturation.
      lower_value, upper_value: the bounds of the factor of all values.
      seed: of the random operations.

    Raises:
      ValueError: a negative amount, or bounds the wrong way round.
    """
    bounds = {
        "saturation": (lower_saturation, upper_saturation), "value": (lower_value, upper_value),
    }  # fmt: skip
    _check(max_delta_hue, bounds)
    hue = tf.random_uniform([], -max_delta_hue, max_delta_hue, seed=seed) if max_delta_hue else 0
    saturation, value = (
        low if low == high else tf.random_uniform([], low, high, seed=seed)
        for low, high in bounds.values()
    )
    return adjust_hsv_in_yiq(image, hue, saturation, value)


def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> Tensor:
    """Turn hues, and scales saturation and values, in the colour space YIQ.

    Args:
      image: `[..., height, width, 3]`, red, green and blue.
      delta_hue: in radians.
      scale_saturation, scale_value: factors.
      name: of the scope.
    """
    with tf.name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = convert_to_tensor(image, name="image")
        dtype = image.dtype
        real = tf.image.convert_image_dtype(image, tf.float32)
        altered = adjust_hsv_in_yiq_op(real, delta_hue, scale_saturation, scale_value)
        return tf.image.convert_image_dtype(altered, dtype)
