"""Follow the regularized leader (McMahan et al., 2013)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.keras.optimizers.base import OptimizerV2

_NOT_NEGATIVE = (
    "initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength",
    "l2_shrinkage_regularization_strength",
)  # fmt: skip


@export("keras.optimizers.Ftrl")
class Ftrl(OptimizerV2):
    """Follow the regularized leader.

    Args:
      learning_rate: the length of the steps, or a schedule.
      learning_rate_power: how steps shorten; not above 0.
      initial_accumulator_value: with which the sums of squares begin.
      l1_regularization_strength, l2_regularization_strength: of the regularization.
      name: of the operations.
      l2_shrinkage_regularization_strength: of a penalty on the size of the variables.

    Raises:
      ValueError: if a number has the wrong sign.
    """

    _config_hypers = (
        "learning_rate", "decay", "learning_rate_power", "l1_regularization_strength",
        "l2_regularization_strength",
    )  # fmt: skip
    _config_attributes = (
        "_initial_accumulator_value", "_l2_shrinkage_regularization_strength",
    )  # fmt: skip

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: Any = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        given = locals()
        for argument in _NOT_NEGATIVE:
            if given[argument] < 0.0:
                raise ValueError(f"{argument} {given[argument]:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        self._set_hypers(
            learning_rate,
            learning_rate_power=learning_rate_power,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, variables: list[Any]) -> None:
        for variable in variables:
            value = tf.constant_initializer(
                self._initial_accumulator_value, dtype=variable.dtype.base_dtype
            )
            self.add_slot(variable, "accumulator", value)
            self.add_slot(variable, "linear")

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        for name in self._config_hypers[2:]:
            numbers[name] = tf.identity(self._get_hyper(name, dtype))
        shrinkage = tf.cast(self._l2_shrinkage_regularization_strength, dtype)
        return {**numbers, "l2_shrinkage": shrinkage}

    def _applied(
        self, grad: Any, variable: Any, numbers: dict[str, Any], **indices: Any
    ) -> Operation:
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        shrinkage = {"l2_shrinkage": numbers["l2_shrinkage"]} if shrinks else {}
        sparse, version = "Sparse" if indices else "", "V2" if shrinks else ""
        return getattr(tf.raw_ops, f"Resource{sparse}ApplyFtrl{version}")(
            var=variable.handle, accum=self.get_slot(variable, "accumulator").handle,
            linear=self.get_slot(variable, "linear").handle, grad=grad, lr=numbers["lr_t"],
            l1=numbers["l1_regularization_strength"], l2=numbers["l2_regularization_strength"],
            lr_power=numbers["learning_rate_power"], use_locking=self._use_locking,
            **shrinkage, **indices,
        )  # fmt: skip

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation:
        return self._applied(grad, variable, numbers)

    def _apply_sparse(
        self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]
    ) -> Operation:
        return self._applied(grad, variable, numbers, indices=indices)
