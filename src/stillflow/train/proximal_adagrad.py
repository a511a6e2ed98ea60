"""Adagrad with a proximal step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.train.optimizer import Optimizer
from stillflow.train.proximal_gradient_descent import Shrinkage
from stillflow.train.rule_optimizer import Step, applies_rules


@export("train.ProximalAdagradOptimizer")
@applies_rules
class ProximalAdagradOptimizer(Optimizer):
    """Adagrad followed by shrinking towards zero (Duchi and Singer, 2009).

    Args:
      learning_rate: a float or tensor.
      initial_accumulator_value: the initial sums.
      l1_regularization_strength: at least 0.
      l2_regularization_strength: at least 0.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: if `initial_accumulator_value` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._shrinkage = Shrinkage(
            learning_rate, l1_regularization_strength, l2_regularization_strength
        )
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            with get_default_graph().colocate_with(var):
                initial = constant(
                    self._initial_accumulator_value,
                    shape=var.get_shape(),
                    dtype=var.dtype.base_dtype,
                )
            self._get_or_make_slot(var, initial, "accumulator", self._name)

    def _prepare(self) -> None:
        self._shrinkage.prepare()

    def _step(self, var: Any) -> Step:
        return self._shrinkage.step("ProximalAdagrad", ("accumulator",), "lr")
