"""RMSProp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.ops.arrays.fill import ones_like
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules
from stillflow.variables.initializers import Ones


@export("train.RMSPropOptimizer")
@applies_rules
class RMSPropOptimizer(Optimizer):
    """Divides gradients by the root of a moving average of their squares.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      decay: of the moving averages.
      momentum: of the steps.
      epsilon: added to the average of squares.
      use_locking: whether updates hold the variable's lock.
      centered: whether the average gradient is subtracted: the variance instead of the square
        (Graves, 2013).
      name: of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._learning_rate_tensor: Any = None
        self._decay_tensor: Any = None
        self._momentum_tensor: Any = None
        self._epsilon_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            dtype, shape = var.dtype.base_dtype, var.get_shape()
            initial: Any = Ones(dtype=dtype) if shape.is_fully_defined() else ones_like(var)
            self._get_or_make_slot_with_initializer(var, initial, shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        (
            self._learning_rate_tensor,
            self._decay_tensor,
            self._momentum_tensor,
            self._epsilon_tensor,
        ) = self._tensors(
            learning_rate=self._learning_rate,
            decay=self._decay,
            momentum=self._momentum,
            epsilon=self._epsilon,
        )

    def _step(self, var: Any) -> Step:
        scalars = {
            "lr": self._learning_rate_tensor,
            "rho": self._decay_tensor,
            "momentum": self._momentum_tensor,
            "epsilon": self._epsilon_tensor,
        }
        if self._centered:
            return Step("CenteredRMSProp", ("mg", "rms", "momentum"), scalars)
        return Step("RMSProp", ("rms", "momentum"), scalars)
