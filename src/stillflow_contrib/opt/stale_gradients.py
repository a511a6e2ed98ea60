"""Gradients that come too late are dropped."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.api import colocate_with
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.global_step import get_global_step
from stillflow.train.optimizer import Optimizer
from stillflow.train.wrapping_optimizer import WrappingOptimizer


@export("contrib.opt.DropStaleGradientOptimizer")
class DropStaleGradientOptimizer(WrappingOptimizer):
    """Optimizer that applies another one unless the gradients are too many steps old.

    Args:
      opt: the other optimizer.
      staleness: how many steps others may have made since a gradient was asked for.
      use_locking: of no effect.
      name: of the optimizer.
    """

    def __init__(
        self,
        opt: Optimizer,
        staleness: int,
        use_locking: bool = False,
        name: str = "DropStaleGradient",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Those of the other optimizer, and at which step they were asked for."""
        with colocate_with(loss):
            self._local_step = get_global_step() + 0
        with tf.control_dependencies([self._local_step]):
            return self._opt.compute_gradients(tf.identity(loss), *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Tensor:
        """Apply gradients, or count that they are stale.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them.
          global_step: the step, which has to be given.
          name: of the operation.

        Returns:
          How many gradients were too late, a float32 variable's value.
        """
        with colocate_with(global_step):
            dropped = tf.get_variable(
                "stale_counter", [], initializer=tf.zeros_initializer(), trainable=False
            )

        def apply() -> Any:
            applied = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
            with tf.control_dependencies([applied]):
                return tf.identity(0.0)

        gradients = [
            grad if isinstance(grad, Tensor) else grad.op
            for grad, _ in grads_and_vars
            if grad is not None
        ]
        with tf.control_dependencies(gradients), colocate_with(global_step):
            staleness = tf.reshape(global_step - self._local_step, shape=())
        update = dropped.assign_add(
            tf.cond(tf.less_equal(staleness, self._staleness), apply, lambda: tf.identity(1.0))
        )
        tf.summary.scalar(
            "Gradient staleness percentage", dropped / tf.cast(global_step + 1, tf.float32)
        )
        return update
