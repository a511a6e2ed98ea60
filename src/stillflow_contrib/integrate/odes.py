"""`tf.contrib.integrate.odeint`: differential equations, in steps as long as errors allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.integrate.dormand_prince import evaluated, fitted, runge_kutta_step

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


class _Step(NamedTuple):
    """The last step: the value and derivative at its end, its times, the next one's length."""

    y1: Any
    f1: Any
    t0: Any
    t1: Any
    dt: Any
    coefficients: Any


class _History(NamedTuple):
    """Ends of steps, and their errors relative to the tolerance."""

    times: Any
    errors: Any


class _Solver:
    """The loops of the method; arguments are those of `odeint`."""

    def __init__(
        self, func: Callable[[Any, Any], Any], t: Any, rtol: Any, atol: Any,
        first_step: Any = None, safety: float = 0.9, ifactor: float = 10.0, dfactor: float = 0.2,
        max_num_steps: int = 1000,
    ) -> None:  # fmt: skip
        self.func, self.t, self.rtol, self.atol = func, t, rtol, atol
        self._given = (safety, ifactor, dfactor, max_num_steps)
        self._first_step = 1.0 if first_step is None else first_step

    def solve(
        self, y0: Any, full_output: bool, name: str
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the values at all times.

        The facts about `odeint`'s steps are returned on request.
        """
        t = self.t
        with tf.name_scope(name, "dopri5", [y0, t, self.rtol, self.atol, *self._given]) as scope:
            self._convert()
            increasing = tf.Assert(
                tf.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"]
            )
            with tf.control_dependencies([increasing]):
                count = tf.size(t)
            solution = tf.TensorArray(y0.dtype, size=count).write(0, y0)
            history = _History(
                tf.TensorArray(t.dtype, size=0, dynamic_size=True),
                tf.TensorArray(self.rtol.dtype, size=0, dynamic_size=True),
            )
            step = _Step(y0, self.func(y0, t[0]), t[0], t[0], self._first_step, [y0] * 5)
            solution, history, _, _ = tf.while_loop(
                lambda _, __, ___, i: i < count, self._interpolate, (solution, history, step, 1),
                name="interpolate_loop",
            )  # fmt: skip
            y = solution.stack(name=scope)
            y.set_shape(t.get_shape().concatenate(y0.get_shape()))
            if not full_output:
                return y
            times = history.times.stack()
            return y, {
                "num_func_evals": 6 * tf.size(times) + 1,
                "integrate_points": times,
                "error_ratio": history.errors.stack(),
            }

    def _convert(self) -> None:
        safety, ifactor, dfactor, most = self._given
        dtype = self.t.dtype
        self._first_step = convert_to_tensor(self._first_step, dtype=dtype, name="first_step")
        self._safety: Any = convert_to_tensor(safety, dtype=dtype, name="safety")
        self._ifactor: Any = convert_to_tensor(ifactor, dtype=dtype, name="ifactor")
        self._dfactor: Any = convert_to_tensor(dfactor, dtype=dtype, name="dfactor")
        self._most: Any = convert_to_tensor(most, dtype=tf.int32, name="max_num_steps")

    def _interpolate(
        self, solution: Any, history: Any, step: Any, i: Any
    ) -> tuple[TensorArray, Any, Any, Tensor]:
        """Goes on until the next time is within a step."""
        with tf.name_scope("interpolate"):
            step, history, _ = tf.while_loop(
                lambda step, *_: self.t[i] > step.t1, self._advance, (step, history, 0),
                name="integrate_loop",
            )  # fmt: skip
            y = evaluated(step.coefficients, step.t0, step.t1, self.t[i])
            return solution.write(i, y), history, step, i + 1

    def _advance(self, step: Any, history: Any, count: Any) -> tuple[Any, Any, Tensor]:
        """Try a step, and accept it if its error is small enough."""
        y0, f0, _, t0, dt, coefficients = step
        with tf.name_scope("assertions"):
            checks = [
                tf.Assert(t0 + dt > t0, ["underflow in dt", dt]),
                tf.Assert(count < self._most, ["max_num_steps exceeded"]),
                tf.Assert(
                    tf.reduce_all(tf.is_finite(abs(y0))), ["non-finite values in state `y`", y0]
                ),
            ]
        with tf.control_dependencies(checks):
            y1, f1, error, slopes = runge_kutta_step(self.func, y0, f0, t0, dt)
        with tf.name_scope("error_ratio"):
            allowed = self.atol + self.rtol * tf.maximum(abs(y0), abs(y1))
            ratio = tf.sqrt(tf.reduce_mean(_abs_square(error) / _abs_square(allowed)))
            taken = ratio <= 1
        with tf.name_scope("update/rk_state"):
            y = tf.cond(taken, lambda: y1, lambda: y0)
            f = tf.cond(taken, lambda: f1, lambda: f0)
            t1 = tf.cond(taken, lambda: t0 + dt, lambda: t0)
            coefficients = tf.cond(taken, lambda: fitted(y0, y1, slopes, dt), lambda: coefficients)
            step = _Step(y, f, t0, t1, self._next_length(dt, ratio), coefficients)
        with tf.name_scope("update/history"):
            history = _History(_appended(history.times, t0 + dt), _appended(history.errors, ratio))
        return step, history, count + 1

    def _next_length(self, dt: Any, ratio: Any) -> Tensor:
        with tf.name_scope(None, "optimal_step_size", [dt, ratio]) as scope:
            ratio = tf.cast(ratio, dt.dtype)
            exponent = tf.cast(1 / 5, dt.dtype)
            factor = tf.maximum(
                1 / self._ifactor, tf.minimum(ratio**exponent / self._safety, 1 / self._dfactor)
            )
            return tf.div(dt, factor, name=scope)


def _abs_square(x: Any) -> Tensor:
    if x.dtype.is_complex:
        return tf.square(tf.real(x)) + tf.square(tf.imag(x))
    return tf.square(x)


def _appended(array: Any, value: Any) -> Any:
    return array.write(array.size(), value)


@export("contrib.integrate.odeint")
def odeint(
    func: Callable[[Any, Any], Any], y0: Any, t: Any, rtol: Any = 1e-6, atol: Any = 1e-12,
    method: str | None = None, options: dict[str, Any] | None = None, full_output: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Solves `dy/dt = func(y, t)` from a value in the beginning.

    Args:
      func: of a value and a float scalar; gives the derivative, of the value's shape.
      y0: the value at `t[0]`, real or complex, of any shape.
      t: [times], floats that increase; float64 if it is no tensor.
      rtol, atol: the error that is allowed, as a part of the value and besides.
      method: "dopri5", or None, which means the same.
      options: only with `method`: `first_step`, `safety`, `ifactor`, `dfactor`, `max_num_steps`.
      full_output: whether to say something of the steps.
      name: of the scope.

    Returns:
      [times, ...], and with `full_output` a dict of `num_func_evals`, `integrate_points` and
      `error_ratio`.

    Raises:
      ValueError: for another method, or options without one.
      TypeError: for other types.
    """
    if method is not None and method != "dopri5":
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with tf.name_scope(name, "odeint", [y0, t, rtol, atol]) as scope:
        start: Any = convert_to_tensor(y0, name="y0")
        times: Any = convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        if not (start.dtype.is_floating or start.dtype.is_complex):
            raise TypeError("`y0` must have a floating point or complex floating point dtype")
        if not times.dtype.is_floating:
            raise TypeError("`t` must have a floating point dtype")
        dtype = abs(start).dtype
        relative = convert_to_tensor(rtol, dtype=dtype, name="rtol")
        absolute = convert_to_tensor(atol, dtype=dtype, name="atol")
        solver = _Solver(func, times, relative, absolute, **(options or {}))
        return solver.solve(start, full_output, scope)
