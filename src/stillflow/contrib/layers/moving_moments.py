"""The moving averages of batch normalization: their variables and their updates."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.layers.utils import smart_cond
from stillflow.contrib.layers.variables import ModelVariables
from stillflow.graph.operation import Tensor
from stillflow.train.moving_averages import assign_moving_average
from stillflow.variables.initializers import Ones, Zeros


def moving_moments(variables: ModelVariables, shape: Any) -> tuple[Any, Any]:
    """Return the variables `moving_mean` and `moving_variance`; they are never partitioned."""
    with tf.variable_scope(tf.get_variable_scope()) as scope:
        scope.set_partitioner(None)
        return (
            variables.make("moving_mean", shape, Zeros(), trainable=False),
            variables.make("moving_variance", shape, Ones(), trainable=False),
        )


class Updates:
    """The updates of the moving averages in one call of a layer.

    Args:
      moving: the variables of mean and variance.
      batch: the mean and the variance of the batch.
      given: the arguments of `batch_norm`.
    """

    def __init__(
        self, moving: tuple[Any, Any], batch: tuple[Any, Any], given: dict[str, Any]
    ) -> None:
        self._moving, self._batch, self._given = moving, batch, given

    def _assign(self) -> tuple[Any, Any]:
        decay, debias = self._given["decay"], self._given["zero_debias_moving_mean"]
        (moving_mean, moving_variance), (mean, variance) = self._moving, self._batch
        return (
            assign_moving_average(moving_mean, mean, decay, zero_debias=debias),
            assign_moving_average(moving_variance, variance, decay, zero_debias=False),
        )

    def before(self, results: Any, otherwise: Any) -> Any:
        """Return the results, behind the updates in training.

        Args:
          results: a tensor, or a tuple of tensors.
          otherwise: what a function without arguments gives when not training.
        """

        def forced() -> Tensor | tuple[Tensor, Tensor]:
            with tf.control_dependencies(self._assign()):
                if isinstance(results, tuple):
                    return tuple(tf.identity(result) for result in results)
                return tf.identity(results)

        return smart_cond(self._given["is_training"], forced, otherwise)

    def collect(self) -> None:
        """Put the updates into collections; when not training they change nothing."""
        updates = smart_cond(self._given["is_training"], self._assign, lambda: self._moving)
        for update in updates:
            tf.add_to_collections(self._given["updates_collections"], update)
