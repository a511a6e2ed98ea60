"""RMSprop (Hinton, 2012)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.keras.backend.config import epsilon as default_epsilon
from stillflow.keras.optimizers.adaptive import CountedLater
from stillflow.keras.optimizers.gradient_descent import uses_momentum


@export("keras.optimizers.RMSprop")
class RMSprop(CountedLater):
    """Gradients divided by the root of a moving average of their squares.

    Args:
      learning_rate: the length of the steps, or a schedule.
      rho: the part that the moving average keeps in a step.
      momentum: the part of a step that is repeated in the next one.
      epsilon: added to divisors.
      centered: whether to divide by the deviation from the gradients' mean.
      name: of the operations.
    """

    _config_hypers = ("learning_rate", "decay", "rho", "momentum")
    _config_attributes = ("epsilon", "centered")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._momentum = uses_momentum(momentum)
        self._set_hypers(kwargs.get("lr", learning_rate), rho=rho, momentum=momentum)
        self.epsilon = epsilon or default_epsilon()
        self.centered = centered

    def _create_slots(self, variables: list[Any]) -> None:
        wanted = {"rms": True, "momentum": self._momentum, "mg": self.centered}
        for slot in (name for name, is_wanted in wanted.items() if is_wanted):
            for variable in variables:
                self.add_slot(variable, slot)

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        rho = tf.identity(self._get_hyper("rho", dtype))
        return {
            **numbers,
            "neg_lr_t": -numbers["lr_t"],
            "epsilon": convert_to_tensor(self.epsilon, dtype),
            "rho": rho,
            "momentum": tf.identity(self._get_hyper("momentum", dtype)),
            "one_minus_rho": 1.0 - rho,
        }

    def _with_momentum(
        self, grad: Any, variable: Any, numbers: dict[str, Any], **indices: Any
    ) -> Operation:
        sparse = "Sparse" if indices else ""
        centered = "Centered" if self.centered else ""
        apply = getattr(tf.raw_ops, f"Resource{sparse}Apply{centered}RMSProp")
        slots = {"ms": "rms", "mom": "momentum", **({"mg": "mg"} if self.centered else {})}
        return apply(
            var=variable.handle,
            **{key: self.get_slot(variable, slot).handle for key, slot in slots.items()},
            lr=numbers["lr_t"], rho=numbers["rho"], momentum=numbers["momentum"],
            epsilon=numbers["epsilon"], grad=grad, use_locking=self._use_locking, **indices,
        )  # fmt: skip

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Any:
        if self._momentum:
            return self._with_momentum(grad, variable, numbers)
        rho, rest = numbers["rho"], numbers["one_minus_rho"]
        rms = self.get_slot(variable, "rms")
        mean_square = rho * rms + rest * tf.square(grad)
        mean_square = tf.assign(rms, mean_square, use_locking=self._use_locking)
        size = mean_square
        if self.centered:
            mg = self.get_slot(variable, "mg")
            mean = tf.assign(mg, rho * mg + rest * grad, use_locking=self._use_locking)
            size = mean_square - tf.square(mean)
        step = numbers["lr_t"] * grad / (tf.sqrt(size) + numbers["epsilon"])
        return tf.assign(variable, variable - step, use_locking=self._use_locking)

    def _apply_sparse(
        self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]
    ) -> Operation:
        if self._momentum:
            return self._with_momentum(grad, variable, numbers, indices=indices)
        rest = numbers["one_minus_rho"]
        changed, size = self._moved_rows(variable, "rms", numbers, indices, grad * grad * rest)
        all_changed = [changed]
        if self.centered:
            changed, mean = self._moved_rows(variable, "mg", numbers, indices, grad * rest)
            size = size - tf.square(mean)
            all_changed.append(changed)
        step = numbers["neg_lr_t"] * grad / (tf.sqrt(size) + numbers["epsilon"])
        update = self._scatter_add(variable, indices, step)
        return tf.group(update, *all_changed)

    def _moved_rows(
        self, variable: Any, slot_name: str, numbers: dict[str, Any], indices: Any, values: Any
    ) -> tuple[Any, Any]:
        """Return a moving average after a step, and the rows of it that gradients are for."""
        slot = self.get_slot(variable, slot_name)
        scaled = tf.assign(slot, slot * numbers["rho"], use_locking=self._use_locking)
        with tf.control_dependencies([scaled]):
            moved = self._scatter_add(slot, indices, values)
            return moved, tf.gather(moved, indices)


RMSProp = RMSprop
