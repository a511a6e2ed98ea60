"""Small parts of models of series: a dense layer, times to predict, overridden parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow_contrib.timeseries.feature_keys import FilteringResults


def fully_connected(
    inp: Any, inp_size: int, layer_size: int, name: str, activation: Any = tf.nn.relu,
    dtype: Any = tf.float32,
) -> Any:  # fmt: skip
    """Return a dense layer with variables `<name>_weight` and `<name>_bias`.

    Args:
      inp: [batch, inp_size].
      inp_size, layer_size: widths.
      name: the beginning of the names of its variables.
      activation: applied to the sums; None for none.
      dtype: of the weights.

    Returns:
      [batch, layer_size].
    """
    weights = tf.get_variable(f"{name}_weight", [inp_size, layer_size], dtype)
    bias = tf.get_variable(f"{name}_bias", [layer_size], initializer=tf.zeros_initializer())
    output = tf.nn.xw_plus_b(inp, weights, bias)
    return output if activation is None else activation(output)


def parameter_switch(parameter_overrides: dict[Any, Any]) -> Callable[[Any], Any]:
    """Return a function that gives a parameter's value: the one given here, or that of the session.

    Args:
      parameter_overrides: {tensor: value}.
    """

    def value_of(parameter: Any) -> Any:
        return tf.convert_to_tensor(parameter_overrides.get(parameter, parameter)).eval()

    return value_of


def canonicalize_times_or_steps_from_output(
    times: Any, steps: int | None, previous_model_output: dict[str, Any]
) -> Array:
    """Return the times [batch, window] to be predicted after those that a model has seen.

    Args:
      times: [batch, window], or [window] for one series; None if there are steps.
      steps: how many times, each one later than that before; None if there are times.
      previous_model_output: with the times [batch, window] that were seen.

    Raises:
      ValueError: if both or neither are given, or times do not come after those seen.
    """
    if steps is not None and times is not None:
        raise ValueError("Only one of `steps` and `times` may be specified.")
    if steps is None and times is None:
        raise ValueError("One of `steps` and `times` must be specified.")
    seen = previous_model_output[FilteringResults.TIMES]
    if steps is not None:
        return seen[:, -1:] + 1 + np.arange(steps)[None, ...]
    times = np.array(times)
    if times.ndim != 2:
        times = times[None, ...]
    if seen.shape[0] != times.shape[0]:
        raise ValueError(
            "`times` must have a batch dimension matching the previous model output (got a batch "
            f"dimension of {times.shape[0]} for `times` and {seen.shape[0]} for the previous model "
            "output)."
        )
    if not (seen[:, -1] < times[:, 0]).all():
        raise ValueError("Prediction times must be after the corresponding previous model output.")
    return times
