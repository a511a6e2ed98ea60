"""An optimizer around an optimizer that scales the loss and unscales the gradients."""

from __future__ import annotations

from typing import Any

from stillflow.distribute import context as strategies
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.cond import smart_cond
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.train.experimental import loss_scale as loss_scales
from stillflow.train.optimizer import Optimizer
from stillflow.train.tracking.base import Trackable


@export("train.experimental.MixedPrecisionLossScaleOptimizer")
class MixedPrecisionLossScaleOptimizer(Trackable, Optimizer):
    """Multiplies the loss by a loss scale and divides gradients by it.

    With a dynamic loss scale, steps whose gradients are not finite are left out.

    Args:
      opt: the optimizer that applies the gradients.
      loss_scale: a `LossScale`, a number or "dynamic".

    Raises:
      ValueError: if `opt` is no optimizer.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._track_trackable(opt, "base_optimizer")
        self._loss_scale: Any = loss_scales.get(loss_scale)
        if self._loss_scale is not None:
            self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Compute unscaled gradients; see `tf.train.Optimizer.compute_gradients`."""
        grads_and_vars = self._optimizer.compute_gradients(
            loss=self._scale_loss(loss),
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        factor = 1 / self._loss_scale()
        return [(_scaled(grad, factor), variable) for grad, variable in grads_and_vars]

    def _scale_loss(self, loss: Any) -> Any:
        scale = self._loss_scale()
        if callable(loss):
            return lambda: loss() * scale
        return loss * scale

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply gradients if all are finite; see `tf.train.Optimizer.apply_gradients`.

        Raises:
          ValueError: where operations are made for all replicas together.
        """
        if strategies.in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        if not isinstance(self._loss_scale, loss_scales.DynamicLossScale):
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        applied: Operation = strategies.get_replica_context().merge_call(
            self._distributed_apply, args=(tuple(grads_and_vars), global_step, name)
        )
        return applied

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: Any, global_step: Any = None,
        name: str | None = None,
    ) -> Operation:  # fmt: skip
        """Apply gradients in all replicas, if all of them are finite."""
        name = self.get_name() if name is None else name
        update_scale, should_apply = self._loss_scale.update([grad for grad, _ in grads_and_vars])

        def apply() -> Any:
            updates = distribution.extended.call_for_each_replica(
                self._optimizer.apply_gradients,
                args=(grads_and_vars, global_step, f"{name}-wrapped"),
            )
            return distribution.group(updates)

        return group(smart_cond(should_apply, apply, no_op), update_scale, name=name)


def _scaled(grad: Any, factor: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return None if grad is None else grad * factor
