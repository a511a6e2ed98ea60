"""Lagrange multipliers that keep external regret small."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.constrained_optimization.projections import project_multipliers
from stillflow_contrib.constrained_optimization.two_players import TwoPlayerOptimizer


@export("contrib.constrained_optimization.AdditiveExternalRegretOptimizer")
class AdditiveExternalRegretOptimizer(TwoPlayerOptimizer):
    """Descends in the Lagrangian over the model, and ascends in it over the multipliers.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the multipliers; by default `optimizer` updates both at once.
      maximum_multiplier_radius: the greatest sum of the multipliers; None for any.

    Raises:
      ValueError: if the greatest sum is negative.
    """

    _state_name = "external_regret_optimizer_state"

    def __init__(
        self,
        optimizer: Any,
        constraint_optimizer: Any = None,
        maximum_multiplier_radius: float | None = None,
    ) -> None:
        super().__init__(optimizer, constraint_optimizer)
        if maximum_multiplier_radius and maximum_multiplier_radius <= 0.0:
            raise ValueError("maximum_multiplier_radius must be strictly positive")
        self._maximum_multiplier_radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Tensor:
        return tf.zeros((num_constraints,), dtype=tf.float32)

    def _lagrange_multipliers(self, state: Any) -> Any:
        """Return the multipliers, `[constraints]`."""
        return state

    def _loss_and_gradient(
        self, state: Any, objective: Any, constraints: Any, proxies: Any
    ) -> tuple[Tensor, Tensor]:
        multipliers = self._lagrange_multipliers(state)
        penalty = tf.tensordot(tf.cast(multipliers, proxies.dtype), proxies, 1)
        loss = objective + penalty
        return loss, tf.cast(constraints, multipliers.dtype)

    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        with tf.colocate_with(state):
            if self._maximum_multiplier_radius:
                projected = project_multipliers(state, self._maximum_multiplier_radius)
            else:
                projected = tf.maximum(state, 0.0)
            return tf.assign(state, projected, name=name)
