"""Initializers by the number of a layer's inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export(
    "contrib.layers.xavier_initializer", "contrib.slim.xavier_initializer",
    "contrib.layers.xavier_initializer_conv2d", "contrib.slim.xavier_initializer_conv2d",
    "contrib.layers.initializers.xavier_initializer",
    "contrib.layers.initializers.xavier_initializer_conv2d",
)  # fmt: skip
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = tf.float32
) -> Callable[..., Any]:
    """Random weights that keep the scale of gradients about the same in all layers (Glorot, 2010).

    Args:
      uniform: whether they are distributed uniformly, or else normally.
      seed: of the random values.
      dtype: a type of floats.

    Returns:
      An initializer.

    Raises:
      TypeError: for another type.

    Example:
      >>> xavier = tf.contrib.layers.xavier_initializer()
      >>> values = tf.Session().run(tf.get_variable("w", [3, 3], initializer=xavier).initial_value)
      >>> bool(abs(values).max() <= 1.0)  # (6 / (3 + 3)) ** 0.5
      True
    """
    return variance_scaling_initializer(
        factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype
    )


xavier_initializer_conv2d = xavier_initializer


def _fans(shape: Any) -> tuple[float, float]:
    if not shape:
        return 1.0, 1.0
    fan_in, fan_out = float(shape[-2] if len(shape) > 1 else shape[-1]), float(shape[-1])
    for dim in shape[:-2]:
        fan_in *= float(dim)
        fan_out *= float(dim)
    return fan_in, fan_out


def _assert_floating(dtype: Any) -> None:
    if not dtype.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")


@export(
    "contrib.layers.variance_scaling_initializer", "contrib.slim.variance_scaling_initializer",
    "contrib.layers.initializers.variance_scaling_initializer",
)  # fmt: skip
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = tf.float32,
) -> Callable[..., Any]:
    """Random weights with variance `factor / n`, n being a number of inputs or outputs.

    Args:
      factor: the factor.
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG", the mean of both.
      uniform: whether they are distributed uniformly, or else normally, without the tails.
      seed: of the random values.
      dtype: a type of floats.

    Returns:
      An initializer.

    Raises:
      TypeError: for another type or mode.

    Example:
      >>> he = tf.contrib.layers.variance_scaling_initializer(2.0, "FAN_IN", uniform=True)
      >>> values = tf.Session().run(tf.get_variable("w", [6, 2], initializer=he).initial_value)
      >>> bool(abs(values).max() <= 1.0)  # (3 * 2.0 / 6) ** 0.5
      True
    """
    _assert_floating(dtype)
    if mode not in ["FAN_IN", "FAN_OUT", "FAN_AVG"]:
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]", mode)

    def _initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Tensor:
        _assert_floating(dtype)
        fan_in, fan_out = _fans(shape)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out}.get(mode, (fan_in + fan_out) / 2.0)
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return tf.random_uniform(shape, -limit, limit, dtype, seed=seed)
        # Cutting the tails off takes 0.3 of the variance.
        return tf.truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return _initializer
