"""Optimizer that scales the loss up and the gradients down, and skips overflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.optimizer import Optimizer
from stillflow_contrib.mixed_precision.managers import LossScaleManager

if TYPE_CHECKING:
    from stillflow.variables.ref_variable import RefVariable


@export("contrib.mixed_precision.LossScaleOptimizer")
class LossScaleOptimizer(Optimizer):
    """Optimizer that applies another one to scaled gradients, unless one is not finite.

    Args:
      opt: the other optimizer.
      loss_scale_manager: says what the scale is.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Tensor | None, RefVariable]]:
        """Gradients of the loss, computed from the scaled loss and scaled back.

        Args:
          loss: a scalar, or a function that gives one.
          var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss:
            as of the other optimizer.

        Returns:
          (gradient, variable) pairs.
        """
        scale = self._loss_scale_manager.get_loss_scale()

        def scaled_loss() -> Tensor:
            value = loss() if callable(loss) else loss
            return value * tf.cast(scale, value.dtype.base_dtype)

        pairs = self._opt.compute_gradients(
            scaled_loss if tf.executing_eagerly() else scaled_loss(),
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        inverse = tf.reciprocal(scale)
        return [
            (gradient if gradient is None
             else gradient * tf.cast(inverse, gradient.dtype.base_dtype), variable)
            for gradient, variable in pairs
        ]  # fmt: skip

    def apply_gradients(
        self, grads_and_vars: Sequence[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply gradients if all are finite, and update the scale.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them.
          global_step, name: as of the other optimizer.

        Returns:
          The operation that does both.
        """
        finite = [tf.reduce_all(tf.is_finite(gradient)) for gradient, _ in grads_and_vars]
        all_finite = tf.reduce_all(finite)
        applied = tf.cond(
            all_finite,
            lambda: self._opt.apply_gradients(grads_and_vars, global_step, name),
            tf.no_op,
        )
        return tf.group(applied, self._loss_scale_manager.update_loss_scale(all_finite))
