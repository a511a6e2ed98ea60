"""Weights of objective and constraints that keep swap regret small."""

from __future__ import annotations

import abc
import math
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.constrained_optimization.projections import (
    maximal_eigenvector,
    project_log_stochastic_matrix,
    project_stochastic_matrix,
)
from stillflow_contrib.constrained_optimization.two_players import TwoPlayerOptimizer


class _SwapRegretOptimizer(TwoPlayerOptimizer):
    """Weighs the objective and the constraints by the fixed point of a matrix it learns.

    The matrix has a row and a column for the objective and for each constraint; its columns are
    distributions.
    """

    _state_name = "swap_regret_optimizer_state"

    @abc.abstractmethod
    def _stochastic_matrix(self, state: Any) -> Any:
        """Return the matrix, of its state."""

    def _distribution(self, state: Any) -> Tensor:
        weights = tf.abs(maximal_eigenvector(self._stochastic_matrix(state)))
        return weights / tf.reduce_sum(weights)

    def _loss_and_gradient(
        self, state: Any, objective: Any, constraints: Any, proxies: Any
    ) -> tuple[Tensor, Tensor]:
        zero = tf.zeros((1,), dtype=constraints.dtype)
        constraints = tf.concat((zero, constraints), axis=0)
        parts = tf.concat((tf.expand_dims(objective, 0), proxies), axis=0)
        distribution = self._distribution(state)
        loss = tf.tensordot(tf.cast(distribution, parts.dtype), parts, 1)
        column = tf.expand_dims(tf.cast(constraints, distribution.dtype), 1)
        return loss, tf.matmul(column, tf.expand_dims(distribution, 0))


@export("contrib.constrained_optimization.AdditiveSwapRegretOptimizer")
class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """Optimizer that adds to the matrix of weights; for problems with proxy constraints.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the matrix; by default `optimizer` updates both at once.
    """

    def _initial_state(self, num_constraints: int) -> Tensor:
        """All weight on the objective."""
        size = num_constraints + 1
        return tf.concat((tf.ones((1, size)), tf.zeros((size - 1, size))), axis=0)

    def _stochastic_matrix(self, state: Any) -> Any:
        return state

    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        with tf.colocate_with(state):
            return tf.assign(state, project_stochastic_matrix(state), name=name)


@export("contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer")
class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """Multiplies the matrix of weights, whose logarithm is the state.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the matrix; by default `optimizer` updates both at once.
      minimum_multiplier_radius: no element of the matrix is less than this, divided by its size.
      initial_multiplier_radius: elements of constraints are this at first, divided by the
        matrix's size; `minimum_multiplier_radius` by default.

    Raises:
      ValueError: if the least is not between 0 and 1, or the first less than the least.
    """

    def __init__(
        self,
        optimizer: Any,
        constraint_optimizer: Any = None,
        minimum_multiplier_radius: float = 1e-3,
        initial_multiplier_radius: float | None = None,
    ) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if minimum_multiplier_radius <= 0.0 or minimum_multiplier_radius >= 1.0:
            raise ValueError("minimum_multiplier_radius must be in the range (0,1)")
        if initial_multiplier_radius is None:
            initial_multiplier_radius = minimum_multiplier_radius
        # TensorFlow lets values above 1 pass here; their logarithm may fail later.
        elif initial_multiplier_radius < minimum_multiplier_radius:
            raise ValueError(
                "initial_multiplier_radius must be in the range [minimum_multiplier_radius,1]"
            )
        self._minimum_multiplier_radius = minimum_multiplier_radius
        self._initial_multiplier_radius = initial_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Tensor:
        """Return the initial weights, with the rest of the weight on the objective."""
        size, radius = num_constraints + 1, self._initial_multiplier_radius
        of_objective = math.log(1.0 - (radius * (size - 1) / size))
        of_constraints = math.log(radius / size)
        rows = (
            tf.constant(of_objective, dtype=tf.float32, shape=(1, size)),
            tf.constant(of_constraints, dtype=tf.float32, shape=(size - 1, size)),
        )
        return tf.concat(rows, axis=0)

    def _stochastic_matrix(self, state: Any) -> Tensor:
        return tf.exp(state)

    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        with tf.colocate_with(state):
            size = state.get_shape().dims[0].value
            least = tf.log(self._minimum_multiplier_radius / tf.to_float(size))
            projected = tf.maximum(project_log_stochastic_matrix(state), least)
            return tf.assign(state, projected, name=name)
