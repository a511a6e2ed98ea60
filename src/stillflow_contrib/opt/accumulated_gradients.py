"""Gradients of several steps of a worker, applied to shared variables at once (Hermans, 2017)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.api import colocate_with
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.optimizer import Optimizer
from stillflow_contrib.opt.worker_copies import CopiesGetter, InitialCopiesHook, local_step


@export("contrib.opt.AGNCustomGetter")
class AGNCustomGetter(CopiesGetter):
    """Getter of three variables for each: a worker's, the sum of its gradients, the shared one.

    Args:
      worker_device: the device of the worker.
    """

    _beside = "grad_variable"

    @property
    def _grad_map(self) -> dict[Any, Any]:
        return self._beside_map


@export("contrib.opt.AGNOptimizer")
class AGNOptimizer(Optimizer):
    """Optimizer of a worker's variables, with occasional updates of shared ones by averages.

    Args:
      optimizer: applies the gradients.
      num_worker: how many workers there are.
      custom_getter: made the variables.
      communication_period: after how many steps shared variables are trained and copied.
      use_locking: of no effect.
      name: of the optimizer.
    """

    def __init__(
        self,
        optimizer: Any,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = optimizer, num_worker, communication_period
        self._global_map, self._grad_map = custom_getter._global_map, custom_getter._grad_map
        self._local_step = local_step()
        optimizer._prepare()

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Tensor:
        """Apply gradients to the worker's variables, then to shared ones if it is time to.

        Args:
          grads_and_vars: (gradient, variable) pairs.
          global_step: a variable that counts how often shared variables were trained.
          name: of no effect.

        Returns:
          The operation.
        """
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        with tf.variable_creator_scope(_create_local):
            updates = [self._opt.apply_gradients(grads_and_vars)]
        updates += [tf.assign_add(self._grad_map[var], grad) for grad, var in pairs]
        trained = [var for _, var in pairs]
        counted = tf.assign_add(self._local_step, 1, name="local_step_update").op
        with tf.control_dependencies([counted]):
            is_time = tf.equal(tf.mod(self._local_step, self._period), 0)
        with tf.control_dependencies(updates):
            return tf.cond(is_time, lambda: self._share(trained, global_step), tf.no_op)

    def _share(self, trained: list[Any], global_step: Any) -> Operation:
        sums = [self._grad_map[var] for var in trained]
        shared = [self._global_map[var] for var in trained]
        averaged = [tf.assign(grad, grad / self._period) for grad in sums]
        with tf.control_dependencies(averaged):
            applied = self._opt.apply_gradients(zip(sums, shared, strict=True))
        with tf.control_dependencies([applied]):
            updates = []
            if global_step is not None:
                with colocate_with(global_step):
                    updates.append(tf.assign_add(global_step, 1))
            for var, center in zip(trained, shared, strict=True):
                updates.append(tf.assign(var, center.read_value()))
            updates += [tf.assign(grad, tf.zeros_like(grad)) for grad in sums]
            return tf.group(*updates)

    def get_init_op(self, task_index: int) -> Operation:
        """Return the operation that sets a worker's variables to shared ones, and its sums to 0.

        Raises:
          ValueError: if there are no variables.
        """
        trained = tf.trainable_variables()
        if not trained:
            raise ValueError(
                "The lists of local_variables, global_center_variables,grad_center_variables "
                "should not be empty"
            )
        shared = [self._global_map[var] for var in trained]
        sums = [self._grad_map[var] for var in trained]
        updates = [tf.assign(var, center) for var, center in zip(trained, shared, strict=True)]
        return tf.group(*updates, *(tf.assign(grad, tf.zeros_like(grad)) for grad in sums))

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> InitialCopiesHook:
        """Return a hook that runs the result of `get_init_op` in a new session."""
        return InitialCopiesHook(is_chief, lambda: self.get_init_op(task_index))


def _create_local(next_creator: Any, collections: Any, **kwargs: Any) -> Any:
    """Make a variable of an optimizer one of the worker."""
    if not collections:
        collections = [tf.GraphKeys.LOCAL_VARIABLES]
    elif tf.GraphKeys.GLOBAL_VARIABLES in collections:
        kept = [key for key in collections if key != tf.GraphKeys.GLOBAL_VARIABLES]
        collections = [*kept, tf.GraphKeys.LOCAL_VARIABLES]
    return next_creator(collections=collections, **kwargs)
