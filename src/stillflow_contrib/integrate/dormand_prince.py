"""A step of Dormand and Prince's method, its error, and values within it (Shampine, 1986)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor

_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_MIDDLE = (
    6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
)  # fmt: skip
_ERROR = (
    1951 / 21600 - 35 / 384, 0, 22642 / 50085 - 500 / 1113, 451 / 720 - 125 / 192,
    -12231 / 42400 - -2187 / 6784, 649 / 6300 - 11 / 84, 1 / 60,
)  # fmt: skip


def _scaled(
    scale: Any, weights: Sequence[float], slopes: Sequence[Any], name: Any = None
) -> Tensor:
    """Return the weighted sum of slopes, times the scale."""
    with tf.name_scope(name, "scaled_dot_product", [scale, weights, slopes]) as scope:
        terms = [
            (scale * weight) * slope
            for weight, slope in zip(weights, slopes, strict=False)
            if weight != 0
        ]
        return tf.add_n(terms, name=scope)


def _weighted(weights: Iterable[Any], values: Iterable[Any]) -> Tensor:
    weights, values = list(weights), list(values)
    with tf.name_scope(None, "dot_product", [weights, values]) as scope:
        terms = [weight * value for weight, value in zip(weights, values, strict=True)]
        return tf.add_n(terms, name=scope)


def runge_kutta_step(
    func: Callable[[Any, Any], Any], y0: Any, f0: Any, t0: Any, dt: Any
) -> tuple[Any, Any, Any, list[Any]]:
    """Return a step of fifth order.

    Args:
      func: the derivative of `y` at `(y, t)`.
      y0, f0: the value and its derivative at the time `t0`.
      dt: the length of the step.

    Returns:
      The value and its derivative at the end, how far the value may be wrong, and all slopes.
    """
    with tf.name_scope(None, "runge_kutta_step", [y0, f0, t0, dt]) as scope:
        y0, f0 = tf.convert_to_tensor(y0, name="y0"), tf.convert_to_tensor(f0, name="f0")
        t0, dt = tf.convert_to_tensor(t0, name="t0"), tf.convert_to_tensor(dt, name="dt")
        length = tf.cast(dt, y0.dtype)
        slopes, y = [f0], y0
        for part, weights in zip(_TIMES, _STAGES, strict=True):
            time = t0 + part * dt
            y = y0 + _scaled(length, weights, slopes)
            slopes.append(func(y, time))
        y1 = tf.identity(y, name=f"{scope}/y1")  # the last stage is the result
        f1 = tf.identity(slopes[-1], name=f"{scope}/f1")
        error = _scaled(length, _ERROR, slopes, name=f"{scope}/y1_error")
        return y1, f1, error, slopes


def fitted(y0: Any, y1: Any, slopes: list[Any], dt: Any) -> list[Any]:
    """Return the coefficients of a quartic polynomial through a step, highest power first."""
    with tf.name_scope("interp_fit_rk"):
        dt = tf.cast(dt, y0.dtype)
        middle = y0 + _scaled(dt, _MIDDLE, slopes)
        first, last = slopes[0], slopes[-1]
        values = [first, last, y0, y1, middle]
        return [
            _weighted([-2 * dt, 2 * dt, -8, -8, 16], values),
            _weighted([5 * dt, -3 * dt, 18, 14, -32], values),
            _weighted([-4 * dt, dt, -11, -5, 16], values),
            dt * first,
            y0,
        ]


def evaluated(coefficients: Sequence[Any], t0: Any, t1: Any, t: Any) -> Tensor:
    """Return the polynomial of a step from `t0` to `t1` at the time `t`, which must lie in it."""
    with tf.name_scope("interp_evaluate"):
        t0, t1, t = (tf.convert_to_tensor(time) for time in (t0, t1, t))
        dtype = coefficients[0].dtype
        inside = tf.Assert(
            (t0 <= t) & (t <= t1), ["invalid interpolation, fails `t0 <= t <= t1`:", t0, t, t1]
        )
        with tf.control_dependencies([inside]):
            x = tf.cast((t - t0) / (t1 - t0), dtype)
        powers = [tf.constant(1, dtype), x]
        while len(powers) < len(coefficients):
            powers.append(powers[-1] * x)
        result: Tensor = _weighted(coefficients, reversed(powers))
        return result
