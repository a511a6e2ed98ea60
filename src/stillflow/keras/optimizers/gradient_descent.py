"""Gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.keras.optimizers.base import OptimizerV2


def uses_momentum(momentum: Any) -> bool:
    """Return True if there is momentum."""
    if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
        raise ValueError("`momentum` must be between [0, 1].")
    return tf.is_tensor(momentum) or callable(momentum) or momentum > 0


@export("keras.optimizers.SGD")
class SGD(OptimizerV2):
    """Gradient descent.

    Args:
      learning_rate: the length of the steps, or a schedule.
      momentum: the part of a step that is repeated in the next one.
      nesterov: whether gradients are taken after the repeated part.
      name: of the operations.
    """

    _config_hypers = ("learning_rate", "decay", "momentum")
    _config_attributes = ("nesterov",)

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._momentum, self.nesterov = uses_momentum(momentum), nesterov
        self._set_hypers(kwargs.get("lr", learning_rate), momentum=momentum)

    def _create_slots(self, variables: list[Any]) -> None:
        if self._momentum:
            for variable in variables:
                self.add_slot(variable, "momentum")

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        return {**numbers, "momentum": tf.identity(self._get_hyper("momentum", dtype))}

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation | None:
        if not self._momentum:
            return tf.raw_ops.ResourceApplyGradientDescent(
                var=variable.handle, alpha=numbers["lr_t"], delta=grad,
                use_locking=self._use_locking,
            )  # fmt: skip
        return tf.raw_ops.ResourceApplyKerasMomentum(
            var=variable.handle, accum=self.get_slot(variable, "momentum").handle,
            lr=numbers["lr_t"], grad=grad, momentum=numbers["momentum"],
            use_locking=self._use_locking, use_nesterov=self.nesterov,
        )  # fmt: skip

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(
                grad, handle, indices, apply_state
            )
        rate = self._state_of(handle, apply_state)["lr_t"]
        return tf.raw_ops.ResourceScatterAdd(
            resource=handle.handle, indices=indices, updates=-grad * rate
        )

    def _apply_sparse(self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]) -> Any:
        return tf.raw_ops.ResourceSparseApplyKerasMomentum(
            var=variable.handle, accum=self.get_slot(variable, "momentum").handle,
            lr=numbers["lr_t"], grad=grad, indices=indices, momentum=numbers["momentum"],
            use_locking=self._use_locking, use_nesterov=self.nesterov,
        )  # fmt: skip
