"""Gradient descent with a proximal step."""

from __future__ import annotations

from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules


class Shrinkage:
    """The numbers of rules that shrink variables after each step (Duchi and Singer, 2009).

    Args:
      learning_rate: a float or tensor.
      l1_regularization_strength: at least 0.
      l2_regularization_strength: at least 0.
    """

    def __init__(
        self, learning_rate: Any, l1_regularization_strength: Any, l2_regularization_strength: Any
    ) -> None:
        self._numbers = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        self._tensors: dict[str, Any] = {}

    def prepare(self) -> None:
        """Make tensors of the numbers."""
        for name, number in self._numbers.items():
            self._tensors[name] = convert_to_tensor(number, name=name)

    def step(self, rule: str, slots: tuple[str, ...], rate: str) -> Step:
        """Return a rule's step, which calls the learning rate `rate`."""
        names = (rate, "l1", "l2")
        scalars = dict(zip(names, self._tensors.values(), strict=True))
        return Step(rule, slots, scalars, uncast=("", "Resource", "Sparse"))


@export("train.ProximalGradientDescentOptimizer")
@applies_rules
class ProximalGradientDescentOptimizer(Optimizer):
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
        super().__init__(use_locking, name)
        self._shrinkage = Shrinkage(
            learning_rate, l1_regularization_strength, l2_regularization_strength
        )

    def _prepare(self) -> None:
        self._shrinkage.prepare()

    def _step(self, var: Any) -> Step:
        return self._shrinkage.step("ProximalGradientDescent", (), "alpha")
