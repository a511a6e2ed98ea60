"""An optimizer that scales the loss so that half-precision gradients do not vanish."""

from __future__ import annotations

from functools import partial
from typing import Any

import stillflow as tf
from stillflow.distribute.context import get_replica_context, in_cross_replica_context
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.keras.backend.initialization import track_variable
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.ops.control_flow.cond import smart_cond
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.train.experimental.loss_scale import DynamicLossScale
from stillflow.train.experimental.loss_scale import get as get_loss_scale


class _Together:
    """Stand-in that passes variables to replicas unchanged."""

    def __init__(self, variables: list[Any]) -> None:
        self.variables = variables


@export("keras.mixed_precision.experimental.LossScaleOptimizer")
class LossScaleOptimizer(OptimizerV2):
    """Multiplies the loss of another optimizer, and divides its gradients by the same number.

    Args:
      opt: the other optimizer.
      loss_scale: a `LossScale`, a number, or "dynamic".

    Raises:
      ValueError: if `opt` is no optimizer of Keras, or clips gradients.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, OptimizerV2):
            raise ValueError(f'"opt" must be an instance of OptimizerV2, but got: {opt}')
        for bound in ("clipnorm", "clipvalue"):
            if hasattr(opt, bound):
                raise ValueError(
                    f"LossScaleOptimizer does not support wrapping optimizers with a {bound}. "
                    f"Optimizer {opt} has {bound} {getattr(opt, bound)}"
                )
        self._optimizer = opt
        self._loss_scale: Any = get_loss_scale(loss_scale)
        for weight in self._loss_scale._weights.values():
            track_variable(weight)
        self._track_trackable(opt, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")
        self._hyper = {}

    @property
    def loss_scale(self) -> DynamicLossScale:
        """The `LossScale`."""
        return self._loss_scale

    def get_scaled_loss(self, loss: Any) -> Any:
        """Return the loss, a tensor or a function that gives one, times the scale."""
        scale = self._loss_scale()
        if callable(loss):

            def scaled() -> Any:
                value = loss()
                return value * tf.cast(scale, value.dtype)

            return scaled
        return loss * tf.cast(scale, loss.dtype)

    def get_unscaled_gradients(self, grads: Any) -> list[Any]:
        """Return the gradients of a scaled loss, including None, divided by the scale."""
        factor = 1.0 / self._loss_scale()
        return [None if g is None else g * tf.cast(factor, g.dtype) for g in grads]

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[Any]:
        found = self._optimizer._compute_gradients(self.get_scaled_loss(loss), var_list, grad_loss)
        grads = self.get_unscaled_gradients([grad for grad, _ in found])
        return list(zip(grads, [variable for _, variable in found], strict=True))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a tensor with respect to variables."""
        return self.get_unscaled_gradients(
            self._optimizer.get_gradients(self.get_scaled_loss(loss), params)
        )

    def apply_gradients(self, grads_and_vars: Any, name: Any = None) -> Operation | None:
        """Change variables if all gradients are finite, and adapts the scale.

        Args:
          grads_and_vars: pairs (gradient, variable).
          name: of the operation.

        Raises:
          ValueError: outside of replicas.
        """
        if in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        replica = get_replica_context()
        return replica.merge_call(self._apply_in_all, args=(tuple(grads_and_vars), name))

    def _apply_in_all(self, distribution: Any, grads_and_vars: Any, name: Any) -> Operation | None:
        grads, variables = ([pair[place] for pair in grads_and_vars] for place in (0, 1))
        update_scale, finite = self._loss_scale.update(grads)
        each = distribution.extended.call_for_each_replica
        apply = partial(each, self._apply_in_replica, args=(grads, _Together(variables), name))
        return group(smart_cond(finite, apply, no_op), update_scale)

    def _apply_in_replica(self, grads: Any, together: _Together, name: Any) -> Any:
        pairs = list(zip(grads, together.variables, strict=True))
        return self._optimizer.apply_gradients(pairs, name)

    # ---- attributes of the other optimizer

    @property
    def iterations(self) -> Any:
        """The variable that counts steps."""
        return self._optimizer.iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        self._optimizer.iterations = variable

    @property
    def learning_rate(self) -> Any:
        """The learning rate, which can be set."""
        return self._optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        self._optimizer.learning_rate = rate

    @property
    def lr(self) -> Any:
        """The learning rate by its old name."""
        return self._optimizer.lr

    @lr.setter
    def lr(self, rate: Any) -> None:
        self._optimizer.lr = rate

    def get_slot_names(self) -> list[str]:
        """Return the names of the other optimizer's slots."""
        return self._optimizer.get_slot_names()

    def get_config(self) -> dict[str, Any]:
        """Not there, as in TensorFlow 1.15."""
        raise NotImplementedError("get_config() is not yet implemented for LossScaleOptimizers")

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """Not there, as in TensorFlow 1.15."""
        raise NotImplementedError("from_config() is not yet implemented for LossScaleOptimizers")
