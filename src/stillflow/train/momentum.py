"""Gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules


@export("train.MomentumOptimizer")
@applies_rules
class MomentumOptimizer(Optimizer):
    """`accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation`.

    Args:
      learning_rate: a float, a tensor or a function of no arguments.
      momentum: likewise.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
      use_nesterov: whether the gradient is taken as if the next step had been made already
        (Sutskever et al., 2013).

    Example:
      >>> w = tf.Variable(4.0, name="w")
      >>> step = tf.train.MomentumOptimizer(learning_rate=0.1, momentum=0.9).minimize(tf.square(w))
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'w/Momentum:0']
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        (self._learning_rate_tensor,) = self._tensors(learning_rate=self._learning_rate)
        (self._momentum_tensor,) = self._tensors(momentum=self._momentum)

    def _step(self, var: Any) -> Step:
        return Step(
            "Momentum",
            ("momentum",),
            {"lr": self._learning_rate_tensor, "momentum": self._momentum_tensor},
            {"use_nesterov": self._use_nesterov},
        )
