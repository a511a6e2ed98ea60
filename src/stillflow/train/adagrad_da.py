"""Adagrad with dual averaging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules, set_hyperparameters


@export("train.AdagradDAOptimizer")
@applies_rules
class AdagradDAOptimizer(Optimizer):
    """Adagrad for sparse linear models: variables follow from sums of gradients alone.

    Args:
      learning_rate: a float or tensor.
      global_step: the variable that counts steps.
      initial_gradient_squared_accumulator_value: the initial sums.
      l1_regularization_strength: how much is shrunk towards zero, at least 0.
      l2_regularization_strength: likewise, of the squares.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: if `initial_gradient_squared_accumulator_value` is not positive.
    """

    _learning_rate: Any
    _learning_rate_tensor: Any

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        set_hyperparameters(self, learning_rate=learning_rate)
        self._initial_squares = initial_gradient_squared_accumulator_value
        self._strengths = {"l1": l1_regularization_strength, "l2": l2_regularization_strength}
        self._global_step = global_step
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            shape, dtype = var.get_shape(), var.dtype.base_dtype
            with get_default_graph().colocate_with(var):
                zero = constant(0.0, shape=shape, dtype=dtype)
                positive = constant(self._initial_squares, shape=shape, dtype=dtype)
            self._get_or_make_slot(var, zero, "gradient_accumulator", self._name)
            self._get_or_make_slot(var, positive, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = convert_to_tensor(self._learning_rate, name="learning_rate")
        # Read once, so that all variables see one step number.
        with get_default_graph().colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = identity(self._global_step) + 1

    def _step(self, var: Any) -> Step:
        with get_default_graph().device(var.device):
            global_step = identity(self._global_step_on_worker)
        return Step(
            "AdagradDA",
            ("gradient_accumulator", "gradient_squared_accumulator"),
            {"lr": self._learning_rate_tensor, "global_step": global_step, **self._strengths},
        )
