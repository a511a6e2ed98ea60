"""Scale of the loss, adapted to gradients that overflow or do not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor


@export("contrib.mixed_precision.LossScaleManager")
class LossScaleManager(ABC):
    """Base class of managers of a loss's scale."""

    @abstractmethod
    def get_loss_scale(self) -> Any:
        """Return the scale, a float32 scalar."""

    @abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Return the operation that updates the scale after a step.

        Args:
          finite_grads: whether all gradients were finite, a bool scalar.
        """


@export("contrib.mixed_precision.FixedLossScaleManager")
class FixedLossScaleManager(LossScaleManager):
    """A scale that stays as it is.

    Args:
      loss_scale: the scale, at least 1.

    Raises:
      ValueError: if it is less.
    """

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, dtype=tf.float32)

    def get_loss_scale(self) -> Tensor:
        """Return the scale, a float32 scalar."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Operation:
        """Return an operation that does nothing."""
        return tf.no_op()


@export("contrib.mixed_precision.ExponentialUpdateLossScaleManager")
class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that grows while gradients are finite, and shrinks when they are not.

    Args:
      init_loss_scale: the scale at the start.
      incr_every_n_steps: after how many steps with finite gradients it grows.
      decr_every_n_nan_or_inf: after how many steps without it shrinks.
      incr_ratio: what it is multiplied by when it grows, unless it would be infinite.
      decr_ratio: what it is multiplied by when it shrinks, to 1 at least.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        start = tf.convert_to_tensor(init_loss_scale, tf.float32)
        self._loss_scale = _variable("loss_scale", start, tf.float32)
        self._num_good_steps = _variable("good_steps", 0, tf.int32)
        self._num_bad_steps = _variable("bad_steps", 0, tf.int32)

    def get_loss_scale(self) -> Any:
        """Return the scale, a float32 variable."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Tensor:
        """Return the operation that counts a step, and lets the scale grow or shrink.

        Args:
          finite_grads: whether all gradients were finite, a bool scalar.
        """
        return tf.cond(finite_grads, self._count_good_step, self._count_bad_step)

    def _rescale(self, scale: Any) -> Operation:
        """Set the scale, and start to count again."""
        update = tf.assign(self._loss_scale, scale)
        counts = (self._num_good_steps, self._num_bad_steps)
        return tf.group(update, tf.group(*(tf.assign(count, 0) for count in counts)))

    def _count_good_step(self) -> Tensor:
        def grow() -> Any:
            scale = tf.cond(
                tf.is_finite(self._loss_scale * self._incr_ratio),
                lambda: self._loss_scale * self._incr_ratio,
                lambda: self._loss_scale,
            )
            return self._rescale(scale)

        return tf.cond(
            self._num_good_steps + 1 >= self._incr_every_n_steps,
            grow,
            lambda: tf.assign_add(self._num_good_steps, 1).op,
        )

    def _count_bad_step(self) -> Tensor:
        bad, good = self._num_bad_steps, self._num_good_steps

        def shrink() -> Operation:
            smaller = self._loss_scale * self._decr_ratio
            return self._rescale(tf.maximum(1.0, smaller))

        is_due = bad + 1 >= self._decr_every_n_nan_or_inf
        return tf.cond(is_due, shrink, lambda: tf.group(tf.assign_add(bad, 1), tf.assign(good, 0)))


def _variable(name: str, start: Any, dtype: Any) -> Any:
    return tf.Variable(start, name=name, dtype=dtype, trainable=False)
