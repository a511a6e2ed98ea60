"""`tf.contrib.integrate.odeint_fixed`: differential equations, in steps of given lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


_Derivative = Callable[[Any, Any], Any]


def _midpoint(func: _Derivative, t: Any, dt: Any, y: Any) -> Tensor:
    """Return the change of a step by the slope in its middle."""
    length = tf.cast(dt, y.dtype)
    return length * func(y + func(y, t) * length / 2, t + dt / 2)


def _runge_kutta_4(func: _Derivative, t: Any, dt: Any, y: Any) -> Tensor:
    """Return the change of a step by the slopes at its ends and twice in its middle."""
    slopes = [func(y, t)]
    middle = t + dt / 2
    length = tf.cast(dt, y.dtype)
    for _ in range(2):
        slopes.append(func(y + length * slopes[-1] / 2, middle))
    end = func(y + length * slopes[-1], t + dt)
    twice = [2 * slope for slope in slopes[1:]]
    return tf.add_n([slopes[0], *twice, end]) * (length / 6)


_METHODS = {"midpoint": _midpoint, "rk4": _runge_kutta_4}


def _solved(
    change: Callable[..., Any], func: _Derivative, y0: Any, t: Any, dt: Any, steps: Any
) -> Tensor:
    """Return the values at all times; `dt` and `steps` are those of each interval."""
    count = tf.size(t)
    now = t[0]
    solution = tf.TensorArray(y0.dtype, count).write(0, y0)

    def step(y: Any, now: Any, done: Any, interval: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        length = dt[interval - 1]
        by = tf.cast(change(func, now, length, y), dtype=y.dtype)
        return y + by, now + length, done + 1, interval

    def interval(
        solution: Any, y: Any, now: Any, i: Any
    ) -> tuple[TensorArray, Tensor, Tensor, Tensor]:
        y, now, _, _ = tf.while_loop(
            lambda _, __, done, i: done < steps[i - 1], step, (y, now, 0, i)
        )
        return solution.write(i, y), y, now, i + 1

    solution, _, _, _ = tf.while_loop(
        lambda _, __, ___, i: i < count, interval, (solution, y0, now, 1)
    )
    values = solution.stack()
    values.set_shape(t.get_shape().concatenate(y0.get_shape()))
    return values


def _check(y0: Any, t: Any, dt: Any) -> None:
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    for name, tensor in (("t", t), ("dt", dt)):
        if not tensor.dtype.is_floating:
            raise TypeError(f"`{name}` must have a floating point dtype")
    if any(len(tensor.get_shape().as_list()) > 1 for tensor in (t, dt)):
        raise ValueError("t must be a 1D tensor")
    if t.get_shape()[0] != dt.get_shape()[0] + 1:
        raise ValueError("t and dt have incompatible lengths, must be N and N-1")


@export("contrib.integrate.odeint_fixed")
def odeint_fixed(
    func: _Derivative,
    y0: Any,
    t: Any,
    dt: Any = None,
    method: str = "rk4",
    name: str | None = None,
) -> Tensor:
    """Solves `dy/dt = func(y, t)` from a value in the beginning, in steps of given lengths.

    Args:
      func: of a value and a float scalar; gives the derivative, of the value's shape.
      y0: the value at `t[0]`, real or complex, of any shape.
      t: [times], floats that increase; float64 if it is no tensor.
      dt: [times - 1], about the lengths of steps between two times: what divides an interval;
        one step for each by default.
      method: "rk4" or "midpoint".
      name: of the scope.

    Returns:
      [times, ...].

    Raises:
      ValueError: for another method, or shapes that do not fit.
      TypeError: for other types.
    """
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        t = convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        y0 = convert_to_tensor(y0, name="y0")
        intervals = t[1:] - t[:-1]
        dt = convert_to_tensor(
            intervals if dt is None else dt, preferred_dtype=tf.float64, name="dt"
        )
        steps = tf.ceil(intervals / dt)
        dt = intervals / steps
        steps = tf.cast(steps, dtype=tf.int32)
        _check(y0, t, dt)
        increasing = tf.Assert(tf.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"])
        with tf.control_dependencies([increasing]), tf.name_scope(method):
            if method not in _METHODS:
                raise ValueError(f"method not supported: {method}")
            return _solved(_METHODS[method], func, y0, t, dt, steps)
