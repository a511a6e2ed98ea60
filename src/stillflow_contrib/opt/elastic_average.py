"""Workers held together by an elastic force to variables that they share (Zhang et al., 2015)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.api import colocate_with
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.optimizer import Optimizer
from stillflow_contrib.opt.worker_copies import (
    CopiesGetter,
    InitialCopiesHook,
    local_step,
    untrained_on_worker,
)

if TYPE_CHECKING:
    from stillflow.variables.ref_variable import RefVariable


@export("contrib.opt.ElasticAverageCustomGetter")
class ElasticAverageCustomGetter(CopiesGetter):
    """Getter of three variables for each: a worker's, the shared one and its local copy.

    Args:
      worker_device: the device of the worker.
    """

    _beside = "local_center_variable"

    @property
    def _local_map(self) -> dict[Any, Any]:
        return self._beside_map

    def _untrained(
        self, getter: Any, name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs["trainable"] = trainable
        return untrained_on_worker(self._worker_device, getter, name, collections, *args, **kwargs)


@export("contrib.opt.ElasticAverageOptimizer")
class ElasticAverageOptimizer(Optimizer):
    """Optimizer of a worker's variables with occasional attraction to shared ones.

    Args:
      opt: the other optimizer.
      num_worker: how many workers there are.
      ea_custom_getter: made the variables.
      communication_period: after how many steps a worker looks at the shared variables.
      moving_rate: by how much of their difference both move; 0.9 by period and worker if it is
        None.
      rho: how much of the distance is part of the loss; `moving_rate` by the learning rate if it
        is None.
      use_locking: of no effect.
      synchronous: whether workers wait for each other at the start.
      name: of the optimizer.
    """

    BETA = 0.9

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._num_worker = num_worker
        self._period = communication_period
        self._local_map = ea_custom_getter._local_map
        self._global_map = ea_custom_getter._global_map
        self._synchronous = synchronous
        if moving_rate is None:
            moving_rate = self.BETA / communication_period / num_worker
        self._moving_rate = moving_rate
        self._rho = moving_rate / opt._learning_rate if rho is None else rho
        self._local_step = local_step()
        opt._prepare()

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Tensor, RefVariable]]:
        """Compute gradients of the loss, and of the distance to the shared variables' copies.

        Args:
          loss: a scalar.
          var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss:
            as of the other optimizer.
        """
        var_list = var_list or tf.trainable_variables()
        known = [self._local_map[var] for var in var_list]
        pairs = zip(tf.trainable_variables(), known, strict=False)
        distances = [tf.subtract(var, center) for var, center in pairs]
        total = loss + self._rho * tf.add_n([tf.nn.l2_loss(distance) for distance in distances])
        return self._opt.compute_gradients(
            total,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Tensor:
        """Apply gradients to the worker's variables, then attract them if it is time to.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them.
          global_step: a variable that counts how often a worker looked at the shared variables.
          name: of no effect.

        Returns:
          The operation.
        """
        before = {var.op.name for var in tf.global_variables()}
        applied = self._opt.apply_gradients(grads_and_vars)
        made = {var.op.name for var in tf.global_variables()} - before
        with tf.control_dependencies([applied]):
            counted = tf.assign_add(self._local_step, 1, name="local_step_update").op
        _make_local(made)
        trained = [var for grad, var in grads_and_vars if grad is not None]
        with tf.control_dependencies([counted]):
            is_time = tf.equal(tf.mod(self._local_step, self._period), 0)
            return tf.cond(is_time, lambda: self._draw(trained, global_step), tf.no_op)

    def _draw(self, trained: list[Any], global_step: Any) -> Operation:
        shared = [self._global_map[var] for var in trained]
        known = [self._local_map[var] for var in trained]
        looked = [center.assign(var) for center, var in zip(known, shared, strict=True)]
        updates, differences = [], []
        with tf.control_dependencies(looked):
            for var, center in zip(trained, known, strict=True):
                with tf.device(var.device):
                    differences.append(tf.subtract(var, center))
            for variables, move in ((trained, tf.assign_sub), (shared, tf.assign_add)):
                for var, difference in zip(variables, differences, strict=True):
                    with tf.device(var.device):
                        updates.append(move(var, tf.multiply(self._moving_rate, difference)))
            if global_step is not None:
                with colocate_with(global_step):
                    updates.append(tf.assign_add(global_step, 1))
        return tf.group(*updates)

    def get_init_op(self, task_index: int) -> Operation:
        """Return the operation that sets all variables of a worker to the shared ones.

        Args:
          task_index: which worker it is.

        Raises:
          ValueError: if there are no variables.
        """
        trained = tf.trainable_variables()
        if not trained:
            raise ValueError(
                "The lists of local_variables, global_center_variables, local_center_variables "
                "should not be empty  "
            )
        updates = []
        for var in trained:
            shared = self._global_map[var]
            updates.append(tf.assign(var, shared))
            updates.append(tf.assign(self._local_map[var], shared))
        done = tf.group(*updates)
        return self._wait_for_all(done, task_index) if self._synchronous else done

    def _wait_for_all(self, done: Any, task_index: int) -> Operation:
        """Signal that a worker is ready, and wait until all are."""
        queues = [
            tf.FIFOQueue(
                self._num_worker, [tf.bool], shapes=[[]], shared_name=f"variable_init_sync_queue{i}"
            )
            for i in range(self._num_worker)
        ]
        token = tf.constant(False)
        with tf.control_dependencies([done]):
            told = [
                tf.no_op() if i == task_index else queue.enqueue(token)
                for i, queue in enumerate(queues)
            ]
        return tf.group(*told, queues[task_index].dequeue_many(len(queues) - 1))

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> InitialCopiesHook:
        """Return a hook that runs the result of `get_init_op` in a new session."""
        return InitialCopiesHook(is_chief, lambda: self.get_init_op(task_index))

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """Return a `tf.train.Saver` that saves the shared variables by the names of a worker's.

        Args:
          var_list: variables of a worker; all that are trained if it is None.
          name: of the saver.
          **kwargs: other arguments of it.

        Raises:
          RuntimeError: if the getter has not made any variable.
        """
        from stillflow.train.saveables import op_list_to_dict
        from stillflow.train.saver import Saver

        if not self._global_map:
            raise RuntimeError(
                "global_center_variable is empty, please make sure this is called after model "
                "created and ElasticAverageCustomGetter is used when declaring you model"
            )
        var_list = tf.trainable_variables() if var_list is None else var_list
        if not isinstance(var_list, dict):
            var_list = op_list_to_dict(var_list)
        by_name = {var.op.name: var for var in tf.trainable_variables()}
        swapped = {
            key: [self._global_map.get(part, part) for part in var]
            if isinstance(var, list)
            else self._global_map.get(by_name.get(var.op.name), var)
            for key, var in var_list.items()
        }
        return Saver(swapped, name=name, **kwargs)


def _make_local(names: set[str]) -> None:
    """Make variables of an optimizer those of a worker."""
    variables = tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)
    for var in [var for var in variables if var.op.name in names]:
        tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, var)
    variables[:] = [var for var in variables if var.op.name not in names]
