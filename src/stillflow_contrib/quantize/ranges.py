"""Values rounded as integers will be, over ranges that are fixed, the last seen, or averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.train.moving_averages import assign_moving_average

if TYPE_CHECKING:
    from stillflow.variables.scatter import ScatterMethods


# The axes over which a range per channel is taken, by rank.
_AXES: dict[int, list[int]] = {2: [0], 4: [0, 1, 2]}
_RANKS = (1, 2, 4)


def fixed_quantize(
    inputs: Any, init_min: float = -6.0, init_max: float = 6.0, scope: Any = None
) -> Tensor:
    """Round values as 8 bits over a fixed range would.

    Args:
      inputs: a float32 tensor.
      init_min, init_max: the range.
      scope: the name scope.
    """
    with tf.name_scope(scope, "FixedQuantize", values=[inputs]):
        return tf.fake_quant_with_min_max_args(inputs, min=init_min, max=init_max)


def last_value_quantize(
    inputs: Any,
    per_channel: bool = False,
    init_min: float = -6.0,
    init_max: float = 6.0,
    vars_collection: str | None = None,
    name_prefix: str = "LastValueQuant",
    reuse: Any = None,
    is_training: bool = True,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
) -> Tensor:
    """Round values over their range in this step, kept in variables `min` and `max`.

    Args:
      inputs: a float32 tensor.
      per_channel: whether each entry of the last axis has a range of its own; for ranks 1, 2, 4.
      init_min, init_max: the range at the start.
      vars_collection: a collection of the variables, in addition to that of all variables.
      name_prefix: of the variable scope, made unique.
      reuse: whether to take variables that are there.
      is_training: whether the variables follow the values.
      num_bits: of the integers, 2 to 8.
      narrow_range: whether the least integer is left out.
      symmetric: whether the range is symmetric around zero.
    """
    settings = dict(locals())

    def assign(variable: Any, value: Tensor, what: str) -> Any:
        return tf.assign(variable, value, name=f"Assign{what}Last")

    return _quantize(settings.pop("inputs"), assign, **settings)


def moving_avg_quantize(
    inputs: Any,
    per_channel: bool = False,
    init_min: float = -6.0,
    init_max: float = 6.0,
    ema_decay: float = 0.999,
    vars_collection: str | None = tf.GraphKeys.MOVING_AVERAGE_VARIABLES,
    name_prefix: str = "MovingAvgQuantize",
    reuse: Any = None,
    is_training: bool = True,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
) -> Tensor:
    """Round values over the moving average of their ranges, kept in `min` and `max`.

    Args:
      ema_decay: of the averages.
      inputs, per_channel, init_min, init_max, vars_collection, name_prefix, reuse, is_training,
        num_bits, narrow_range, symmetric: as in `last_value_quantize`.
    """
    settings = dict(locals())
    del settings["ema_decay"]

    def assign(variable: Any, value: Tensor, what: str) -> Any:
        return assign_moving_average(variable, value, ema_decay, name=f"Assign{what}Ema")

    return _quantize(settings.pop("inputs"), assign, **settings)


def _quantize(
    inputs: Any,
    assign: Callable[[Any, Tensor, str], Any],
    *,
    per_channel: bool,
    init_min: float,
    init_max: float,
    vars_collection: str | None,
    name_prefix: str,
    reuse: Any,
    is_training: bool,
    num_bits: int,
    narrow_range: bool,
    symmetric: bool,
) -> Tensor:
    with tf.variable_scope(None, default_name=name_prefix, values=[inputs], reuse=reuse) as scope:
        scope.set_partitioner(None)
        shape = _range_shape(inputs, name_prefix) if per_channel else []
        least = _variable("min", shape, init_min, vars_collection)
        most = _variable("max", shape, init_max, vars_collection)
        if is_training:
            ratio = _ratio(num_bits, narrow_range) if symmetric else None
            low, high = _range(*_extremes(inputs, per_channel), ratio)
            least, most = assign(least, low, "Min"), assign(most, high, "Max")
        round_off = (
            tf.fake_quant_with_min_max_vars_per_channel
            if per_channel
            else tf.fake_quant_with_min_max_vars
        )
        return round_off(inputs, least, most, num_bits=num_bits, narrow_range=narrow_range)


def _range_shape(inputs: Any, name_prefix: str) -> list[Any]:
    shape = inputs.get_shape()
    if len(shape) not in _RANKS:
        raise AssertionError(f"Expected 1D, 2D or 4D input, was: {shape} in  scope: {name_prefix}")
    return [shape[-1]]


def _variable(name: str, shape: list[Any], value: float, collection: str | None) -> ScatterMethods:
    return tf.get_variable(
        name,
        shape=shape,
        initializer=tf.constant_initializer(value),
        collections=[collection or tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.GLOBAL_VARIABLES],
        trainable=False,
        aggregation=tf.VariableAggregation.MEAN,
    )


def _extremes(inputs: Any, per_channel: bool) -> tuple[Any, Any]:
    """Return the least and the most of the values, of each channel or of all."""
    rank = inputs.get_shape().ndims
    if per_channel and rank == 1:
        return inputs, inputs
    axes = _AXES[rank] if per_channel else None
    return (
        tf.reduce_min(inputs, axis=axes, name="BatchMin"),
        tf.reduce_max(inputs, axis=axes, name="BatchMax"),
    )


def _ratio(num_bits: int, narrow_range: bool) -> float:
    """Return the ratio of a symmetric range's ends: there is one more integer below 0."""
    return -1 if narrow_range else -((1 << num_bits) - 2) / (1 << num_bits)


def _range(least: Any, most: Any, ratio: float | None) -> tuple[Tensor, Tensor]:
    """Return the range that holds the values and 0, which has to have an integer of its own."""
    if ratio is None:
        return tf.minimum(least, 0.0), tf.maximum(most, 0.0)
    return tf.minimum(least, most / ratio), tf.maximum(most, least * ratio)
