"""Learning-rate schedules as functions of the step: `tf.train.exponential_decay`, ..."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import exp, negative
from stillflow.train import schedules


def _at(schedule: Callable[[Any], Tensor], step: Any) -> Any:
    """Return the rate at a step.

    Where operations run when they are called, a function that gives it.
    """
    return partial(schedule, step) if executing_eagerly() else schedule(step)


@export("train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * decay_rate ** (global_step / decay_steps)`.

    Args:
      learning_rate: the rate at step 0.
      global_step: the number of steps, a scalar tensor or variable.
      decay_steps: after how many steps the rate is multiplied by `decay_rate`.
      decay_rate: the factor.
      staircase: whether the rate changes only every `decay_steps`.
      name: of the operations.

    Returns:
      A scalar tensor of the type of `learning_rate`.

    Example:
      >>> rate = tf.train.exponential_decay(0.8, global_step=20, decay_steps=10, decay_rate=0.5)
      >>> print(tf.Session().run(rate))
      0.2
    """
    schedule = schedules.ExponentialDecay(
        learning_rate, decay_steps, decay_rate, staircase=staircase, name=name
    )
    return _at(schedule, global_step)


@export("train.piecewise_constant_decay", "train.piecewise_constant")
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """`values[i]` up to `boundaries[i]`, and the last value after the last boundary.

    Args:
      x: a scalar tensor or variable, such as the global step.
      boundaries: ascending numbers of the type of `x`.
      values: numbers or tensors of one type, one more than boundaries.
      name: of the operations.

    Raises:
      ValueError: if types differ or the numbers of boundaries and values do not fit.
    """
    boundaries = convert_n_to_tensor(boundaries)
    values = convert_n_to_tensor(values)
    kind = convert_to_tensor(x).dtype.base_dtype
    for i, boundary in enumerate(boundaries):
        if boundary.dtype.base_dtype == kind:
            continue
        # Python integers became int32; a step that is int64 compares with them all the same.
        if boundary.dtype.base_dtype != dtypes.int32 or kind != dtypes.int64:
            raise ValueError(
                f"Boundaries ({boundary.dtype.base_dtype}) must have the same dtype as x ({kind})."
            )
        boundaries[i] = cast(boundary, kind)
    for value in values[1:]:
        if value.dtype.base_dtype != values[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({values[0].dtype.base_dtype} vs {value.dtype.base_dtype})."
            )
    schedule = schedules.PiecewiseConstantDecay(boundaries, values, name=name)
    return _at(schedule, x)


@export("train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Decay from `learning_rate` to `end_learning_rate` in `decay_steps`, along a polynomial.

    Args:
      learning_rate: the rate at step 0.
      global_step: the number of steps, a scalar tensor or variable.
      decay_steps: when the end is reached.
      end_learning_rate: the rate from then on.
      power: of the polynomial; 1 is a line.
      cycle: True to begin again, each time from the next multiple of `decay_steps`.
      name: of the operations.

    Example:
      >>> rate = tf.train.polynomial_decay(1.0, 5, decay_steps=10, end_learning_rate=0.5)
      >>> print(tf.Session().run(rate))
      0.75
    """
    schedule = schedules.PolynomialDecay(
        learning_rate,
        decay_steps,
        end_learning_rate=end_learning_rate,
        power=power,
        cycle=cycle,
        name=name,
    )
    return _at(schedule, global_step)


@export("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * exp(-decay_rate * global_step / decay_steps)`.

    Arguments are those of `exponential_decay`.
    """
    rate = exp(negative(decay_rate))
    schedule = schedules.ExponentialDecay(
        learning_rate, decay_steps, rate, staircase=staircase, name=name
    )
    return _at(schedule, global_step)


@export("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate / (1 + decay_rate * global_step / decay_steps)`.

    Arguments are those of `exponential_decay`.
    """
    schedule = schedules.InverseTimeDecay(
        learning_rate, decay_steps, decay_rate, staircase=staircase, name=name
    )
    return _at(schedule, global_step)


@export("train.cosine_decay")
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half a cosine wave from `learning_rate` to `alpha * learning_rate` in `decay_steps`."""
    schedule = schedules.CosineDecay(learning_rate, decay_steps, alpha=alpha, name=name)
    return _at(schedule, global_step)


@export("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half cosine waves one after the other (Loshchilov and Hutter, 2017).

    Args:
      learning_rate: the rate at step 0.
      global_step: the number of steps, a scalar tensor or variable.
      first_decay_steps: the length of the first wave.
      t_mul: how much longer each wave is than the one before.
      m_mul: how much higher.
      alpha: the lowest rate, as a fraction of `learning_rate`.
      name: of the operations.
    """
    schedule = schedules.CosineDecayRestarts(
        learning_rate, first_decay_steps, t_mul=t_mul, m_mul=m_mul, alpha=alpha, name=name
    )
    return _at(schedule, global_step)


@export("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return a falling line times cosine waves (Bello et al., 2017).

    Args:
      learning_rate: the rate at step 0.
      global_step: the number of steps, a scalar tensor or variable.
      decay_steps: the length of the line.
      num_periods: how many waves there are in it.
      alpha: added to the line.
      beta: added to the product.
      name: of the operations.
    """
    schedule = schedules.LinearCosineDecay(
        learning_rate, decay_steps, num_periods=num_periods, alpha=alpha, beta=beta, name=name
    )
    return _at(schedule, global_step)


@export("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`linear_cosine_decay` with normal noise added to the line.

    The noise has the variance `initial_variance / (1 + global_step) ** variance_decay`.
    """
    schedule = schedules.NoisyLinearCosineDecay(
        learning_rate,
        decay_steps,
        initial_variance=initial_variance,
        variance_decay=variance_decay,
        num_periods=num_periods,
        alpha=alpha,
        beta=beta,
        name=name,
    )
    return _at(schedule, global_step)
