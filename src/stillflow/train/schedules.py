"""Learning rates that depend on the step: objects that, called with a step, build the rate.

`tf.train.exponential_decay` and its kin are these, called at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.case import case
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.binary import add, minimum, multiply, pow
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.division import divide
from stillflow.ops.math.trigonometry import cos
from stillflow.ops.math.unary import ceil, floor, log, sqrt
from stillflow.ops.random.basic import random_normal


@export("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule:
    """The base of schedules: `schedule(step)` gives a scalar tensor."""

    def __call__(self, step: Any) -> Tensor:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """Return the schedule that `get_config` described."""
        return cls(**config)


class _Schedule(LearningRateSchedule):
    """A schedule whose constructor's arguments are the fields of a dataclass."""

    def get_config(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]


def _initial(value: Any) -> Tensor:
    return convert_to_tensor(value, name="initial_learning_rate")


@export("keras.optimizers.schedules.ExponentialDecay")
@dataclass(eq=False)
class ExponentialDecay(_Schedule):
    """`rate * decay_rate ** (step / decay_steps)`; with `staircase` in whole powers."""

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "ExponentialDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            decay_steps = cast(self.decay_steps, rate.dtype)
            decay_rate = cast(self.decay_rate, rate.dtype)
            power = cast(step, rate.dtype) / decay_steps
            if self.staircase:
                power = floor(power)
            return multiply(rate, pow(decay_rate, power), name=scope)


@export("keras.optimizers.schedules.PiecewiseConstantDecay")
@dataclass(eq=False)
class PiecewiseConstantDecay(_Schedule):
    """`values[i]` up to `boundaries[i]`, and the last value after the last boundary.

    Raises:
      ValueError: if there is not one value more than boundaries.
    """

    boundaries: Any
    values: Any
    name: str | None = None

    def __post_init__(self) -> None:
        if len(self.boundaries) != len(self.values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "PiecewiseConstant"):
            bounds = convert_n_to_tensor(self.boundaries)
            values = convert_n_to_tensor(self.values)
            step = convert_to_tensor(step)
            kind = step.dtype.base_dtype
            bounds = [b if b.dtype.base_dtype == kind else cast(b, kind) for b in bounds]
            pairs = [
                (step <= bounds[0], lambda: values[0]),
                (step > bounds[-1], lambda: values[-1]),
            ]
            for low, high, value in zip(bounds[:-1], bounds[1:], values[1:-1], strict=True):
                between = (step > low) & (step <= high)
                pairs.append((between, lambda value=value: value))  # type: ignore[misc]
            # The default is never taken; it lets `case` know that exactly one value results.
            result: Tensor = case(pairs, lambda: values[0], exclusive=True)
            return result


@export("keras.optimizers.schedules.PolynomialDecay")
@dataclass(eq=False)
class PolynomialDecay(_Schedule):
    """Decay from the initial to `end_learning_rate` along a polynomial, cyclically if `cycle`."""

    initial_learning_rate: Any
    decay_steps: Any
    end_learning_rate: Any = 0.0001
    power: Any = 1.0
    cycle: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "PolynomialDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            end = cast(self.end_learning_rate, rate.dtype)
            power = cast(self.power, rate.dtype)
            step = cast(step, rate.dtype)
            decay_steps = cast(self.decay_steps, rate.dtype)
            if self.cycle:
                now = step
                cycles = cond(equal(now, 0), lambda: 1.0, lambda: ceil(now / self.decay_steps))
                decay_steps = multiply(decay_steps, cycles)
            else:
                step = minimum(step, self.decay_steps)
            fraction = divide(step, decay_steps)
            return add(multiply(rate - end, pow(1 - fraction, power)), end, name=scope)


@export("keras.optimizers.schedules.InverseTimeDecay")
@dataclass(eq=False)
class InverseTimeDecay(_Schedule):
    """`rate / (1 + decay_rate * step / decay_steps)`; with `staircase` in whole quotients."""

    initial_learning_rate: Any
    decay_steps: Any
    decay_rate: Any
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "InverseTimeDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            decay_steps = cast(self.decay_steps, rate.dtype)
            decay_rate = cast(self.decay_rate, rate.dtype)
            quotient = cast(step, rate.dtype) / decay_steps
            if self.staircase:
                quotient = floor(quotient)
            one = cast(constant(1), rate.dtype)
            result: Tensor = divide(rate, add(one, multiply(decay_rate, quotient)), name=scope)
            return result


def _half_cosine(fraction: Any, factor: Any = 0.5) -> Tensor:
    """`factor * (1 + cos(pi * fraction))`: from `2 * factor` at 0 to 0 at 1."""
    return factor * (1.0 + cos(constant(math.pi) * fraction))


@export("keras.experimental.CosineDecay")
@dataclass(eq=False)
class CosineDecay(_Schedule):
    """Half a cosine wave, down to `alpha` times the rate (Loshchilov and Hutter, 2017)."""

    initial_learning_rate: Any
    decay_steps: Any
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "CosineDecay"):
            rate = _initial(self.initial_learning_rate)
            decay_steps = cast(self.decay_steps, rate.dtype)
            step = minimum(cast(step, rate.dtype), decay_steps)
            cosine = _half_cosine(step / decay_steps)
            return multiply(rate, (1 - self.alpha) * cosine + self.alpha)


@export("keras.experimental.CosineDecayRestarts")
@dataclass(eq=False)
class CosineDecayRestarts(_Schedule):
    """Half cosine waves one after the other, each `t_mul` times as long and `m_mul` as high."""

    initial_learning_rate: Any
    first_decay_steps: Any
    t_mul: Any = 2.0
    m_mul: Any = 1.0
    alpha: Any = 0.0
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "SGDRDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            first_decay_steps, alpha, t_mul, m_mul = (
                cast(value, rate.dtype)
                for value in (self.first_decay_steps, self.alpha, self.t_mul, self.m_mul)
            )
            completed = cast(step, rate.dtype) / first_decay_steps

            def equal_lengths() -> tuple[Tensor, Tensor]:
                restarts = floor(completed)
                return restarts, completed - restarts

            def growing_lengths() -> tuple[Tensor, Tensor]:
                restarts = floor(log(1.0 - completed * (1.0 - t_mul)) / log(t_mul))
                passed = (1.0 - t_mul**restarts) / (1.0 - t_mul)
                return restarts, (completed - passed) / t_mul**restarts

            restarts, fraction = cond(equal(t_mul, 1.0), equal_lengths, growing_lengths)
            height = m_mul**restarts
            cosine = _half_cosine(fraction, 0.5 * height)
            return multiply(rate, (1 - alpha) * cosine + alpha, name=scope)


@export("keras.experimental.LinearCosineDecay")
@dataclass(eq=False)
class LinearCosineDecay(_Schedule):
    """A falling line times cosine waves (Bello et al., 2017)."""

    initial_learning_rate: Any
    decay_steps: Any
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "LinearCosineDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            decay_steps, num_periods, alpha, beta = (
                cast(value, rate.dtype)
                for value in (self.decay_steps, self.num_periods, self.alpha, self.beta)
            )
            step = minimum(cast(step, rate.dtype), decay_steps)
            linear = (decay_steps - step) / decay_steps
            fraction = step / decay_steps
            waves = _half_cosine(2.0 * num_periods * fraction)
            return multiply(rate, (alpha + linear) * waves + beta, name=scope)


@export("keras.experimental.NoisyLinearCosineDecay")
@dataclass(eq=False)
class NoisyLinearCosineDecay(_Schedule):
    """`LinearCosineDecay` with normal noise whose variance falls with the step."""

    initial_learning_rate: Any
    decay_steps: Any
    initial_variance: Any = 1.0
    variance_decay: Any = 0.55
    num_periods: Any = 0.5
    alpha: Any = 0.0
    beta: Any = 0.001
    name: str | None = None

    def __call__(self, step: Any) -> Tensor:
        with name_scope(self.name or "NoisyLinearCosineDecay") as scope:
            rate = _initial(self.initial_learning_rate)
            decay_steps, initial_variance, variance_decay, num_periods, alpha, beta = (
                cast(value, rate.dtype)
                for value in (
                    self.decay_steps,
                    self.initial_variance,
                    self.variance_decay,
                    self.num_periods,
                    self.alpha,
                    self.beta,
                )
            )
            step = minimum(cast(step, rate.dtype), decay_steps)
            linear = (decay_steps - step) / decay_steps
            variance = initial_variance / pow(1.0 + step, variance_decay)
            noisy = linear + random_normal(linear.shape, stddev=sqrt(variance))
            fraction = step / decay_steps
            waves = _half_cosine(2.0 * num_periods * fraction)
            return multiply(rate, (alpha + noisy) * waves + beta, name=scope)
