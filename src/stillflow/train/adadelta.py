"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules


@export("train.AdadeltaOptimizer")
@applies_rules
class AdadeltaOptimizer(Optimizer):
    """Scales gradients by the ratio of past steps to past gradients (Zeiler, 2012).

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters;
        1.0 is the value of the paper.
      rho: decay of the moving averages.
      epsilon: added to both averages.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Example:
      >>> w = tf.Variable(4.0, name="w")
      >>> step = tf.train.AdadeltaOptimizer(learning_rate=1.0).minimize(tf.square(w))
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'w/Adadelta:0', 'w/Adadelta_1:0']
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon
        self._lr_t: Any = None
        self._rho_t: Any = None
        self._epsilon_t: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._lr_t, self._rho_t, self._epsilon_t = self._tensors(
            lr=self._lr, rho=self._rho, epsilon=self._epsilon
        )

    def _step(self, var: Any) -> Step:
        return Step(
            "Adadelta",
            ("accum", "accum_update"),
            {"lr": self._lr_t, "rho": self._rho_t, "epsilon": self._epsilon_t},
        )
