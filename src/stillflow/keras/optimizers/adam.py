"""Adam (Kingma and Ba, 2015) and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.keras.backend.config import epsilon as default_epsilon
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.keras.optimizers.schedules import LearningRateSchedule


class _Moments(OptimizerV2):
    """An optimizer that keeps moving averages `m` and `v` of gradients and their sizes."""

    _config_hypers = ("learning_rate", "decay", "beta_1", "beta_2")
    _config_attributes: tuple[str, ...] = ("epsilon",)

    def __init__(
        self,
        learning_rate: Any,
        beta_1: Any,
        beta_2: Any,
        epsilon: float | None,
        name: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hypers(kwargs.get("lr", learning_rate), beta_1=beta_1, beta_2=beta_2)
        self.epsilon = epsilon or default_epsilon()

    _slot_order: tuple[str, ...] = ("m", "v")

    def _create_slots(self, variables: list[Any]) -> None:
        for slot in self._slot_order:
            for variable in variables:
                self.add_slot(variable, slot)

    def _moved(self, slot: Any, factor: Any, indices: Any, values: Any) -> Tensor:
        """Return a slot after it was scaled and rows were added to."""
        scaled = tf.assign(slot, slot * factor, use_locking=self._use_locking)
        with tf.control_dependencies([scaled]):
            return self._scatter_add(slot, indices, values)


@export("keras.optimizers.Adam")
class Adam(_Moments):
    """Adam.

    Args:
      learning_rate: the length of the steps, or a schedule.
      beta_1, beta_2: the parts that the moving averages keep in a step.
      epsilon: added to divisors.
      amsgrad: whether to divide by the largest average so far (Reddi et al., 2018).
      name: of the operations.
    """

    _config_attributes = ("epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self.amsgrad = amsgrad
        if amsgrad:
            self._slot_order = ("m", "v", "vhat")

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        step = tf.cast(self.iterations + 1, dtype)
        beta_1 = tf.identity(self._get_hyper("beta_1", dtype))
        beta_2 = tf.identity(self._get_hyper("beta_2", dtype))
        beta_1_power, beta_2_power = tf.pow(beta_1, step), tf.pow(beta_2, step)
        rate = numbers["lr_t"] * (tf.sqrt(1 - beta_2_power) / (1 - beta_1_power))
        return {
            **numbers,
            "lr": rate,
            "epsilon": convert_to_tensor(self.epsilon, dtype),
            "beta_1": beta_1,
            "beta_1_power": beta_1_power,
            "one_minus_beta_1": 1 - beta_1,
            "beta_2": beta_2,
            "beta_2_power": beta_2_power,
            "one_minus_beta_2": 1 - beta_2,
        }

    def set_weights(self, weights: list[Any]) -> None:
        """Set the values of `weights`; those that older versions kept are left out."""
        params = self.weights
        if len(weights) == 3 * ((len(params) - 1) // 2) + 1:
            weights = weights[: len(params)]
        super().set_weights(weights)

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation | None:
        apply = tf.raw_ops.ResourceApplyAdamWithAmsgrad if self.amsgrad else (
            tf.raw_ops.ResourceApplyAdam
        )  # fmt: skip
        slots = {slot: self.get_slot(variable, slot).handle for slot in self._slot_order}
        return apply(
            var=variable.handle, **slots, beta1_power=numbers["beta_1_power"],
            beta2_power=numbers["beta_2_power"], lr=numbers["lr_t"], beta1=numbers["beta_1"],
            beta2=numbers["beta_2"], epsilon=numbers["epsilon"], grad=grad,
            use_locking=self._use_locking,
        )  # fmt: skip

    def _apply_sparse(
        self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]
    ) -> Operation:
        slots = [self.get_slot(variable, slot) for slot in self._slot_order]
        values = grad * numbers["one_minus_beta_1"]
        m = self._moved(slots[0], numbers["beta_1"], indices, values)
        values = grad * grad * numbers["one_minus_beta_2"]
        v = self._moved(slots[1], numbers["beta_2"], indices, values)
        changed, size = [m, v], v
        if self.amsgrad:
            largest = tf.maximum(slots[2], v)
            with tf.control_dependencies([largest]):
                size = tf.assign(slots[2], largest, use_locking=self._use_locking)
            changed.append(size)
        root = tf.sqrt(size)
        step = numbers["lr"] * m / (root + numbers["epsilon"])
        update = tf.assign_sub(variable, step, use_locking=self._use_locking)
        return tf.group(update, *changed)


@export("keras.optimizers.Adamax")
class Adamax(_Moments):
    """Adam with the largest gradient instead of their mean square.

    Args:
      learning_rate: the length of the steps, or a schedule.
      beta_1, beta_2: the parts that the averages keep in a step.
      epsilon: added to divisors.
      name: of the operations.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        numbers = super()._numbers(dtype)
        step = tf.cast(self.iterations + 1, dtype)
        beta_1 = tf.identity(self._get_hyper("beta_1", dtype))
        beta_2 = tf.identity(self._get_hyper("beta_2", dtype))
        beta_1_power = tf.pow(beta_1, step)
        return {
            **numbers,
            "neg_scaled_lr": -numbers["lr_t"] / (1 - beta_1_power),
            "epsilon": convert_to_tensor(self.epsilon, dtype),
            "beta_1": beta_1,
            "beta_1_power": beta_1_power,
            "one_minus_beta_1": 1 - beta_1,
            "beta_2": beta_2,
            "zero": tf.zeros((), dtype=tf.int64),
        }

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Operation:
        slots = {slot: self.get_slot(variable, slot).handle for slot in self._slot_order}
        return tf.raw_ops.ResourceApplyAdaMax(
            var=variable.handle, **slots, beta1_power=numbers["beta_1_power"],
            lr=numbers["lr_t"], beta1=numbers["beta_1"], beta2=numbers["beta_2"],
            epsilon=numbers["epsilon"], grad=grad, use_locking=self._use_locking,
        )  # fmt: skip

    def _apply_sparse(self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]) -> Any:
        m, v = (self.get_slot(variable, slot) for slot in self._slot_order)
        m_rows = tf.gather(m, indices, axis=numbers["zero"])
        m_rows = m_rows * numbers["beta_1"] + grad * numbers["one_minus_beta_1"]
        m_update = self._scatter_update(m, indices, m_rows)
        v_rows = tf.gather(v, indices, axis=numbers["zero"])
        v_rows = tf.maximum(v_rows * numbers["beta_2"], tf.abs(grad))
        v_update = self._scatter_update(v, indices, v_rows)
        step = numbers["neg_scaled_lr"] * (m_rows / (v_rows + numbers["epsilon"]))
        with tf.control_dependencies([step]):
            update = self._scatter_add(variable, indices, step)
        return tf.group(update, m_update, v_update)

    def _scatter_update(self, variable: Any, indices: Any, values: Any) -> Any:
        with tf.control_dependencies([values]):
            updated = tf.raw_ops.ResourceScatterUpdate(
                resource=variable.handle, indices=indices, updates=values
            )
            with tf.control_dependencies([updated]):
                return variable.value()


@export("keras.optimizers.Nadam")
class Nadam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Args:
      learning_rate: the length of the steps.
      beta_1, beta_2: the parts that the moving averages keep in a step.
      epsilon: added to divisors.
      name: of the operations.
      schedule_decay: how fast the momentum's correction falls.

    Raises:
      ValueError: for a schedule of the learning rate.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float | None = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as "
                "the learning rate."
            )
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self._m_cache: Any = None

    def _create_slots(self, variables: list[Any]) -> None:
        if self._m_cache is None:
            self._m_cache = self.add_weight(
                "momentum_cache", shape=[], dtype=variables[0].dtype.base_dtype,
                initializer="ones", trainable=False,
            )  # fmt: skip
            self._weights.append(self._m_cache)
        super()._create_slots(variables)

    def _prepare(self, variables: list[Any]) -> dict[Any, Any]:
        self._m_cache_read = tf.identity(self._m_cache)
        return super()._prepare(variables)

    def _numbers(self, dtype: Any) -> dict[str, Any]:
        rate = tf.identity(self._get_hyper("learning_rate", dtype))
        beta_1 = tf.identity(self._get_hyper("beta_1", dtype))
        beta_2 = tf.identity(self._get_hyper("beta_2", dtype))
        step, next_step = (tf.cast(self.iterations + i, dtype) for i in (1, 2))
        base = tf.cast(0.96, dtype)
        m_t = beta_1 * (1.0 - 0.5 * tf.pow(base, self._initial_decay * step))
        m_t_1 = beta_1 * (1.0 - 0.5 * tf.pow(base, self._initial_decay * next_step))
        schedule = tf.cast(self._m_cache_read, dtype) * m_t
        if dtype is self._m_cache.dtype.base_dtype:
            assigned = tf.assign(self._m_cache, schedule, use_locking=self._use_locking)
            schedule = tf.identity(assigned)
        next_schedule = schedule * m_t_1
        return {
            "lr_t": rate,
            "neg_lr_t": -rate,
            "epsilon": convert_to_tensor(self.epsilon, dtype),
            "beta_1": beta_1,
            "beta_2": beta_2,
            "m_t": m_t,
            "m_t_1": m_t_1,
            "one_minus_beta_1": 1 - beta_1,
            "one_minus_beta_2": 1 - beta_2,
            "one_minus_m_t": 1.0 - m_t,
            "one_minus_schedule": 1.0 - schedule,
            "one_minus_next_schedule": 1.0 - next_schedule,
            "v_denominator": 1.0 - tf.pow(beta_2, step),
        }

    def _apply_dense(self, grad: Any, variable: Any, numbers: dict[str, Any]) -> Any:
        assign = partial(tf.assign, use_locking=self._use_locking)

        def averaged(name: str, beta: str, power: Callable[[Any], Any]) -> Any:
            slot = self.get_slot(variable, name)
            kept = numbers[beta] * slot
            return assign(slot, kept + numbers[f"one_minus_{beta}"] * power(grad))

        corrected = grad / numbers["one_minus_schedule"]
        m_corrected = averaged("m", "beta_1", lambda x: x) / numbers["one_minus_next_schedule"]
        v_corrected = averaged("v", "beta_2", tf.square) / numbers["v_denominator"]
        mean = numbers["one_minus_m_t"] * corrected + numbers["m_t_1"] * m_corrected
        step = numbers["lr_t"] * mean / (tf.sqrt(v_corrected) + numbers["epsilon"])
        return assign(variable, variable - step)

    def _apply_sparse(self, grad: Any, variable: Any, indices: Any, numbers: dict[str, Any]) -> Any:
        m, v = (self.get_slot(variable, slot) for slot in self._slot_order)
        corrected = grad / numbers["one_minus_schedule"]
        values = grad * numbers["one_minus_beta_1"]
        m_rows = self._moved_rows(m, numbers["beta_1"], indices, values)[1]
        m_corrected = m_rows / numbers["one_minus_next_schedule"]
        mean = numbers["one_minus_m_t"] * corrected + numbers["m_t_1"] * m_corrected
        values = grad * grad * numbers["one_minus_beta_2"]
        v_t, v_rows = self._moved_rows(v, numbers["beta_2"], indices, values)
        v_corrected = v_rows / numbers["v_denominator"]
        root = tf.sqrt(v_corrected) + numbers["epsilon"]
        update = self._scatter_add(variable, indices, numbers["neg_lr_t"] * mean / root)
        return tf.group(update, mean, v_t)

    def _moved_rows(self, slot: Any, factor: Any, indices: Any, values: Any) -> tuple[Any, Any]:
        scaled = tf.assign(slot, slot * factor, use_locking=self._use_locking)
        with tf.control_dependencies([scaled]):
            moved = self._scatter_add(slot, indices, values)
            return moved, tf.gather(moved, indices)
