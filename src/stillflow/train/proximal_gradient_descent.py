"""Gradient descent with a proximal step."""

from __future__ import annotations

from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.train.rule_optimizer import RuleOptimizer, Step


class ProximalOptimizer(RuleOptimizer):
    """Shrinks variables towards zero after each step (Duchi and Singer, 2009).

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
        l1_regularization_strength: float,
        l2_regularization_strength: float,
        use_locking: bool,
        name: str,
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

    def _scalars(self, rate: str) -> dict[str, Any]:
        """What the rules take, which call the learning rate `rate`."""
        return {
            rate: self._learning_rate_tensor,
            "l1": self._l1_regularization_strength_tensor,
            "l2": self._l2_regularization_strength_tensor,
        }


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(ProximalOptimizer):
    """Gradient descent followed by shrinking towards zero (Duchi and Singer, 2009).

    Args:
      learning_rate: a float or tensor.
      l1_regularization_strength: at least 0.
      l2_regularization_strength: at least 0.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.
    """

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(
            learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name
        )

    def _step(self, var: Any) -> Step:
        return Step("ProximalGradientDescent", (), self._scalars("alpha"))
