"""Arithmetic of quantized models: real factors as integers and shifts, rounding as they round."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.lite.model_tensors import Array, Quantization, whole

_BITS = 31  # of the integer that stands for a factor


def fixed_point(factors: Any) -> tuple[Array, Array]:
    """Return real factors, not negative, as `multiplier * 2**(shift - 31)`.

    The multipliers have 31 bits; the shifts are to the left if positive; int64.
    """
    fractions, shifts = np.frexp(np.asarray(factors, np.float64))
    multipliers = np.floor(fractions * 2.0**_BITS + 0.5).astype(np.int64)
    overflow = multipliers == 1 << _BITS
    multipliers, shifts = np.where(overflow, multipliers // 2, multipliers), shifts + overflow
    vanishes = shifts < -_BITS
    return np.where(vanishes, 0, multipliers), np.where(vanishes, 0, shifts).astype(np.int64)


def scaled(values: Any, factors: Any) -> Tensor:
    """Return int64 integers of 32 bits times real factors, rounded twice as in fixed point.

    The product is rounded to 31 fewer bits, halves upwards, then shifted, halves away from zero.
    There is one factor, or one for each index of the last dimension.
    """
    multipliers, shifts = fixed_point(factors)
    left, right = np.maximum(shifts, 0), np.maximum(-shifts, 0)
    if left.any():
        values = values * (np.int64(1) << left)
    high = tf.bitwise.right_shift(
        values * multipliers + np.int64(1 << (_BITS - 1)), tf.constant(_BITS, tf.int64)
    )
    if not right.any():
        return high
    half = (np.int64(1) << right) >> 1
    # A negative half is rounded down: one less is added to it.
    sign = tf.bitwise.right_shift(high, tf.constant(63, tf.int64)) * (right > 0).astype(np.int64)
    return tf.bitwise.right_shift(high + half + sign, tf.constant(right))


def rounded(reals: Any) -> Tensor:
    """Return reals rounded to whole ones, halves away from zero."""
    return tf.sign(reals) * tf.floor(tf.abs(reals) + 0.5)


def activation_range(
    activation: str, quantization: Quantization, dtype: np.dtype[Any]
) -> tuple[int, int]:
    """Return the least and the largest integer that an activation function lets through."""
    limits = np.iinfo(dtype)
    bounds = {
        "NONE": (None, None),
        "RELU": (0.0, None),
        "RELU6": (0.0, 6.0),
        "RELU_N1_TO_1": (-1.0, 1.0),
    }
    if activation not in bounds:
        raise ValueError(f"The quantized activation function {activation} is not supported")

    def quantized(bound: float) -> int:
        ratio = np.float32(bound) / quantization.scale
        return quantization.zero_point + int(whole(ratio))

    low, high = bounds[activation]
    return (
        limits.min if low is None else max(limits.min, quantized(low)),
        limits.max if high is None else min(limits.max, quantized(high)),
    )


def clamped(values: Any, low: int, high: int, dtype: np.dtype[Any]) -> Tensor:
    """Return integers held between two bounds, as the type of a tensor of the model."""
    return tf.cast(tf.clip_by_value(values, low, high), dtype)


def exact_type(largest_sum: float) -> DType:
    """Return the floating type in which sums of integers, up to a magnitude, are exact."""
    return tf.float32 if largest_sum < 2**24 else tf.float64
