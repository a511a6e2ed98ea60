"""FTRL-proximal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules, scalars_of, set_hyperparameters


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

    _initial_accumulator_value: float
    _l2_shrinkage_regularization_strength: float

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
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for argument, value in not_negative.items():
            if value < 0.0:
                raise ValueError(f"{argument} {value:f} needs to be positive or zero")
        set_hyperparameters(
            self, learning_rate=learning_rate, learning_rate_power=learning_rate_power,
            **not_negative,
        )  # fmt: skip
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        start, graph = self._initial_accumulator_value, get_default_graph()
        accum, linear = (given or self._name for given in (self._accum_name, self._linear_name))
        for var in var_list:
            with graph.colocate_with(var):
                filled = constant(start, var.dtype, var.get_shape())
                self._get_or_make_slot(var, filled, "accum", accum)
                self._zeros_slot(var, "linear", linear)

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
        names = {
            "lr": "learning_rate",
            "l1": "l1_regularization_strength",
            "l2": "l2_regularization_strength",
            "lr_power": "learning_rate_power",
        }
        rule = "Ftrl"
        if self._l2_shrinkage_regularization_strength > 0.0:
            rule, names["l2_shrinkage"] = "FtrlV2", "l2_shrinkage_regularization_strength"
        return Step(rule, ("accum", "linear"), scalars_of(self, **names))
