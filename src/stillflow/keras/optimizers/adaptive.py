"""Adagrad (Duchi et al., 2011) and Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.keras.backend.config import epsilon as default_epsilon
from stillflow.keras.optimizers.base import OptimizerV2


class CountedLater(OptimizerV2):
    """An optimizer whose older versions did not count steps."""

    _config_hypers: tuple[str, ...] = ("learning_rate", "decay")

    def set_weights(self, weights: list[Any]) -> None:
        """Set the values of `weights`; the count of steps may be missing."""
        if len(self.weights) == len(weights) + 1:
            weights = [np.array(0), *weights]
        super().set_weights(weights)


@export("keras.optimizers.Adagrad")
class Adagrad(CountedLater):
    """Steps that become shorter where gradients were large.

    Args:
      learning_rate: the length of the steps, or a schedule.
      initial_accumulator_value: with which the sums of squares begin.
      epsilon: added to divisors.
      name: of the operations.

    Raises:
      ValueError: if the sums begin below 0.
    """

    _config_attributes = ("_initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(
                f"initial_accumulator_value must be non-negative: {initial_accumulator_value}"
            )
        super().__init__(name, **kwargs)
        self._set_hypers(kwargs.get("lr", learning_rate))
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, variables: list[Any]) -> None:
        for variable in variables:
            value = tf.constant_initializer(
                self._initial_accumulator_value, dtype=variable.dtype.base_dtype
            )
            self.add_slot(variable, "accumulator", value)

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        return {
            **numbers,
            "epsilon": convert_to_tensor(self.epsilon, dtype),
            "neg_lr_t": -numbers["lr_t"],
            "zero": tf.zeros((), dtype=tf.int64),
        }

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation:
        return tf.raw_ops.ResourceApplyAdagradV2(
            var=variable.handle, accum=self.get_slot(variable, "accumulator").handle,
            lr=numbers["lr_t"], epsilon=numbers["epsilon"], grad=grad,
            use_locking=self._use_locking,
        )  # fmt: skip

    def _apply_sparse(
        self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]
    ) -> Operation:
        return tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=variable.handle, accum=self.get_slot(variable, "accumulator").handle,
            lr=numbers["lr_t"], epsilon=numbers["epsilon"], grad=grad, indices=indices,
            use_locking=self._use_locking,
        )  # fmt: skip

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> OptimizerV2:
        """Return the optimizer with these arguments; sums that are not given begin with 0."""
        config.setdefault("initial_accumulator_value", 0.0)
        return super().from_config(config, custom_objects)


@export("keras.optimizers.Adadelta")
class Adadelta(CountedLater):
    """Steps in units of earlier steps.

    Args:
      learning_rate: the length of the steps, or a schedule.
      rho: the part that the moving averages keep in a step.
      epsilon: added to divisors.
      name: of the operations.
    """

    _config_hypers = ("learning_rate", "decay", "rho")
    _config_attributes = ("epsilon",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float | None = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hypers(kwargs.get("lr", learning_rate), rho=rho)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, variables: list[Any]) -> None:
        for slot in ("accum_grad", "accum_var"):
            for variable in variables:
                self.add_slot(variable, slot)

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        epsilon = convert_to_tensor(self.epsilon, dtype)
        return {**numbers, "epsilon": epsilon, "rho": tf.identity(self._get_hyper("rho", dtype))}

    def _arguments(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> dict[str, Any]:
        return {
            "var": variable.handle,
            "accum": self.get_slot(variable, "accum_grad").handle,
            "accum_update": self.get_slot(variable, "accum_var").handle,
            "lr": numbers["lr_t"],
            "rho": numbers["rho"],
            "epsilon": numbers["epsilon"],
            "grad": grad,
            "use_locking": self._use_locking,
        }

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation:
        return tf.raw_ops.ResourceApplyAdadelta(**self._arguments(grad, variable, numbers))

    def _apply_sparse(self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]) -> Any:
        return tf.raw_ops.ResourceSparseApplyAdadelta(
            **self._arguments(grad, variable, numbers), indices=indices
        )
