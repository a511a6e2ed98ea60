"""Adagrad with a proximal step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.train.rule_optimizer import RuleOptimizer, Step


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad followed by shrinking towards zero (Duchi and Singer, 2009).

    Args:
      learning_rate: a float or tensor.
      initial_accumulator_value: what the sums of squares start with.
      l1_regularization_strength: at least 0.
      l2_regularization_strength: at least 0.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: if `initial_accumulator_value` is not positive.
    """

    _uncast = ("", "Resource", "Sparse")

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
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None
        self._learning_rate_tensor: Any = None

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
        self._learning_rate_tensor = convert_to_tensor(self._learning_rate, name="learning_rate")
        self._l1_regularization_strength_tensor = convert_to_tensor(
            self._l1_regularization_strength, name="l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = convert_to_tensor(
            self._l2_regularization_strength, name="l2_regularization_strength"
        )

    def _step(self, var: Any) -> Step:
        scalars = {
            "lr": self._learning_rate_tensor,
            "l1": self._l1_regularization_strength_tensor,
            "l2": self._l2_regularization_strength_tensor,
        }
        return Step("ProximalAdagrad", ("accumulator",), scalars)
