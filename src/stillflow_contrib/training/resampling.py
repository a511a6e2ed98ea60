"""Rows of tensors repeated or left out at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.moving_averages import assign_moving_average
from stillflow.variables.variable_scope import get_local_variable

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


def repeat_range(counts: Any, name: str | None = None) -> Tensor:
    """Return the integers from 0, the i-th `counts[i]` times."""
    with tf.name_scope(name, "repeat_range", [counts]) as scope:
        counts = convert_to_tensor(counts, name="counts")
        size = tf.shape(counts)[0]

        def body(output: Any, i: Any) -> tuple[TensorArray, Tensor]:
            repeated = tf.fill(counts[i : i + 1], i)
            return output.write(i, repeated), i + 1

        start = tf.TensorArray(dtype=tf.int32, size=size, infer_shape=False)
        output, writes = tf.while_loop(lambda _, i: i < size, body, loop_vars=[start, 0])
        return tf.cond(
            writes > 0, output.concat, lambda: tf.zeros(shape=[0], dtype=tf.int32), name=scope
        )


@export("contrib.training.resample_at_rate")
def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """Rows, each as often as a Poisson distribution of its rate says.

    Args:
      inputs: tensors of the same number of rows.
      rates: how often each row is expected, a floating-point vector.
      scope: name of the scope.
      seed: of the random operation.
      back_prop: whether gradients flow through the choice of rows.

    Returns:
      The chosen rows of each input, in order.
    """
    with tf.name_scope(scope, default_name="resample_at_rate", values=[*inputs, rates]):
        means: Any = convert_to_tensor(rates, name="rates")
        drawn = tf.random_poisson(means, (), means.dtype, seed=seed)
        rows = repeat_range(tf.cast(drawn, tf.int32))
        chosen = rows if back_prop else tf.stop_gradient(rows)
        return [tf.gather(each, chosen) for each in inputs]


@export("contrib.training.weighted_resample")
def weighted_resample(
    inputs: Sequence[Any],
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """Rows, each as often as its weight says, compared with the mean weight so far.

    Args:
      inputs: a list of tensors of the same number of rows.
      weights: of the rows, a floating-point vector.
      overall_rate: how often a row of mean weight is expected.
      scope: name of the scope.
      mean_decay: of the moving mean of weights, which a local variable keeps.
      seed: of the random operation.

    Returns:
      The chosen rows of each input, and the rate at which each of them was chosen.
    """
    with tf.name_scope(scope, "weighted_resample", inputs) as name:
        with tf.variable_scope(scope, "estimate_mean", inputs):
            kept = get_local_variable(
                "estimated_mean", initializer=tf.cast(0, weights.dtype), dtype=weights.dtype
            )
            mean = assign_moving_average(kept, tf.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        chosen = resample_at_rate([rates, *inputs], rates, scope=name, seed=seed)
        return chosen[1:], chosen[0]
