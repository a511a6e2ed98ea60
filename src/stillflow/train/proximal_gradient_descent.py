"""Gradient descent with a proximal step."""

from __future__ import annotations

from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.train.rule_optimizer import RuleOptimizer, Step


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent followed by shrinking towards zero (Duchi and Singer, 2009).

    Args:
      learning_rate: a float or tensor.
      l1_regularization_strength: at least 0.
      l2_regularization_strength: at least 0.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.
    """

    _uncast = ("", "Resource", "Sparse")

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = convert_to_tensor(self._learning_rate, name="learning_rate")
        self._l1_regularization_strength_tensor = convert_to_tensor(
            self._l1_regularization_strength, name="l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = convert_to_tensor(
            self._l2_regularization_strength, name="l2_regularization_strength"
        )

    def _step(self, var: Any) -> Step:
        scalars = {
            "alpha": self._learning_rate_tensor,
            "l1": self._l1_regularization_strength_tensor,
            "l2": self._l2_regularization_strength_tensor,
        }
        return Step("ProximalGradientDescent", (), scalars)
