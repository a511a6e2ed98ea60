"""FTRL-proximal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules


@export("train.FtrlOptimizer")
@applies_rules
class FtrlOptimizer(Optimizer):
    """Follows the regularized leader (McMahan et al., 2013).

    Args:
      learning_rate: a float or tensor.
      learning_rate_power: how the rate falls with the sum of squares, at most 0.
      initial_accumulator_value: the initial sums, at least 0.
      l1_regularization_strength: how much is shrunk towards zero, at least 0.
      l2_regularization_strength: likewise, of the squares, to stabilize.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
      accum_name: of the slots of sums of squares; `name` by default.
      linear_name: of the slots of linear terms; `name` by default.
      l2_shrinkage_regularization_strength: a penalty on magnitude, at least 0.

    Raises:
      ValueError: if an argument is out of its range.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        for argument, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{argument} {value:f} needs to be positive or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._learning_rate_tensor: Any = None
        self._learning_rate_power_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None
        self._l2_shrinkage_regularization_strength_tensor: Any = None
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            with get_default_graph().colocate_with(var):
                initial = constant(
                    self._initial_accumulator_value, dtype=var.dtype, shape=var.get_shape()
                )
                self._get_or_make_slot(var, initial, "accum", self._accum_name or self._name)
                self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        for parameter in (
            "learning_rate",
            "l1_regularization_strength",
            "l2_regularization_strength",
            "l2_shrinkage_regularization_strength",
            "learning_rate_power",
        ):
            tensor = convert_to_tensor(getattr(self, f"_{parameter}"), name=parameter)
            setattr(self, f"_{parameter}_tensor", tensor)

    def _step(self, var: Any) -> Step:
        scalars = {
            "lr": self._learning_rate_tensor,
            "l1": self._l1_regularization_strength_tensor,
            "l2": self._l2_regularization_strength_tensor,
            "lr_power": self._learning_rate_power_tensor,
        }
        if self._l2_shrinkage_regularization_strength <= 0.0:
            return Step("Ftrl", ("accum", "linear"), scalars)
        scalars["l2_shrinkage"] = self._l2_shrinkage_regularization_strength_tensor
        return Step("FtrlV2", ("accum", "linear"), scalars)
