"""Moving means and variances, kept in variables."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export


def _check_floating(name: str, dtype: Any) -> None:
    if not dtype.is_floating:
        raise TypeError(f"{name}.base_dtype({dtype.name}) does not have float type `dtype`.")


@export("contrib.distributions.assign_moving_mean_variance")
def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Update a moving mean and variance by a value, exponentially weighted.

    Args:
      mean_var: a floating-point variable, the mean.
      variance_var: a variable of the same type, the variance.
      value: of the shape of both.
      decay: the share of the former values that stays, such as 0.99.
      name: of the scope.

    Returns:
      the mean and the variance, updated.

    Raises:
      TypeError: if the types differ or are no floating-point types.
    """
    with (
        tf.name_scope(name, "assign_moving_mean_variance", [variance_var, mean_var, value, decay]),
        tf.colocate_with(variance_var),
        tf.colocate_with(mean_var),
    ):
        dtype = mean_var.dtype.base_dtype
        _check_floating("mean_var", dtype)
        other = variance_var.dtype.base_dtype
        if dtype != other:
            raise TypeError(
                f"mean_var.base_dtype({dtype.name}) != variance_var.base_dtype({other.name})"
            )
        value = convert_to_tensor(value, dtype=dtype, name="value")
        decay = convert_to_tensor(decay, dtype=dtype, name="decay")
        delta = value - mean_var
        # The difference is taken before the mean moves.
        with tf.control_dependencies([delta]):
            mean = tf.assign_add(mean_var, (1.0 - decay) * delta)
            variance = tf.assign_sub(
                variance_var, (1.0 - decay) * (variance_var - decay * tf.square(delta))
            )
        return mean, variance


@export("contrib.distributions.assign_log_moving_mean_exp")
def assign_log_moving_mean_exp(
    log_mean_exp_var: Any, log_value: Any, decay: Any, name: str | None = None
) -> Any:
    """Add to a variable the logarithm of the weighted mean of exponentials.

    Args:
      log_mean_exp_var: a floating-point variable.
      log_value: of its shape, the logarithm of a value.
      decay: the share of the former mean that stays.
      name: of the scope.

    Returns:
      the variable, updated.

    Raises:
      TypeError: if the variable is of no floating-point type.
    """
    with (
        tf.name_scope(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value, decay]),
        tf.colocate_with(log_mean_exp_var),
    ):
        dtype = log_mean_exp_var.dtype.base_dtype
        _check_floating("log_mean_exp_var", dtype)
        log_value = convert_to_tensor(log_value, dtype=dtype, name="log_value")
        decay = convert_to_tensor(decay, dtype=dtype, name="decay")
        delta = (log_value - log_mean_exp_var)[tf.newaxis, ...]
        kept = tf.log(decay) * tf.ones_like(delta)
        both = tf.concat([kept, delta + tf.log1p(-decay)], axis=0)
        return log_mean_exp_var.assign_add(tf.reduce_logsumexp(both, axis=0))


@export("contrib.distributions.moving_mean_variance")
def moving_mean_variance(
    value: Any, decay: Any, collections: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return the moving mean and variance of a value, in variables that this makes.

    Args:
      value: a floating-point tensor.
      decay: the share of the former values that stays.
      collections: those that the variables are added to; the global variables by default.
      name: of the variables' scope.

    Raises:
      TypeError: if the value is of no floating-point type.
    """
    if collections is None:
        collections = [tf.GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert_to_tensor(value, name="value")
        dtype = value.dtype.base_dtype
        _check_floating("value", dtype)
        decay = convert_to_tensor(decay, dtype=dtype, name="decay")
        variance, mean = (
            tf.get_variable(
                f"moving_{what}",
                shape=value.shape,
                dtype=value.dtype,
                initializer=tf.zeros_initializer(),
                trainable=False,
                collections=collections,
            )
            for what in ("variance", "mean")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)
