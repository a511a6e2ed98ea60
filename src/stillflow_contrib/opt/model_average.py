"""Workers whose variables are averaged every so many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.api import colocate_with
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.optimizer import Optimizer
from stillflow.train.session_run_hook import SessionRunHook
from stillflow_contrib.opt.worker_copies import CENTER, local_step, untrained_on_worker

if TYPE_CHECKING:
    from stillflow.ops.queues.accumulator_classes import ConditionalAccumulator


@export("contrib.opt.ModelAverageCustomGetter")
class ModelAverageCustomGetter:
    """Getter of two variables for each: a worker's, and one that all workers share.

    For `tf.get_variable` with `tf.train.replica_device_setter`.

    Args:
      worker_device: the device of the worker.
    """

    def __init__(self, worker_device: Any) -> None:
        self._worker_device = worker_device
        self._local_2_global: dict[Any, Any] = {}

    def __call__(
        self, getter: Any, name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not trainable:
            kwargs["trainable"] = trainable
            return untrained_on_worker(
                self._worker_device, getter, name, collections, *args, **kwargs
            )
        of_worker = [tf.GraphKeys.LOCAL_VARIABLES]
        with tf.device(self._worker_device):
            local = getter(name, *args, trainable=True, collections=of_worker, **kwargs)
        self._local_2_global[local] = tf.Variable(
            name=f"{CENTER}/{name}",
            initial_value=local.initialized_value(),
            trainable=False,
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
        )
        return local


@export("contrib.opt.ModelAverageOptimizer")
class ModelAverageOptimizer(Optimizer):
    """Optimizer of a worker's variables with occasional averages over all workers.

    Args:
      opt: the other optimizer.
      num_worker: how many workers there are.
      is_chief: whether this one sets the shared variables.
      ma_custom_getter: made the variables.
      interval_steps: after how many steps variables are averaged.
      use_locking: of no effect.
      name: of the optimizer.
    """

    _chief_init_op: Any = None

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        is_chief: bool,
        ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100,
        use_locking: bool = True,
        name: str = "ModelAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._interval_steps = opt, interval_steps
        self._num_worker, self._is_chief = num_worker, is_chief
        # The shared variable of each of a worker's.
        self._local_2_global = ma_custom_getter._local_2_global
        self._accumulator_list: list[tuple[Any, str]] = []
        self._local_step = local_step()
        opt._prepare()

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Those of the other optimizer."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Tensor:
        """Apply gradients to the worker's variables, then average if it is time to.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them.
          global_step: a variable that counts how often the chief averaged.
          name: of no effect.

        Returns:
          The operation.

        Raises:
          ValueError: if there are no pairs, or no step.
        """
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        applied = self._opt.apply_gradients(grads_and_vars)
        with tf.control_dependencies([applied]):
            counted = tf.assign_add(self._local_step, 1, name="local_step_update").op
        trained = [var for grad, var in grads_and_vars if grad is not None]
        with tf.control_dependencies([counted]):
            is_time = tf.equal(tf.mod(self._local_step, self._interval_steps), 0)
            update = tf.cond(is_time, lambda: self._average(trained, global_step), tf.no_op)
        starts = []
        for accumulator, device in self._accumulator_list:
            with tf.device(device):
                starts.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self._chief_init_op = tf.group(*starts)
        return update

    def _average(self, trained: list[Any], global_step: Any) -> Operation:
        shared = [self._local_2_global[var] for var in trained]
        with colocate_with(global_step):
            queue = tf.FIFOQueue(-1, [tf.bool], shapes=[[]], shared_name="sync_queue")
        given, averages = [], []
        with tf.name_scope(None, f"{self._name}/global"):
            for var, center in zip(trained, shared, strict=True):
                with tf.device(center.device):
                    accumulator = self._accumulator(var, center)
                    given.append(accumulator.apply_grad(var._ref(), local_step=global_step))
                    averages.append(accumulator.take_grad(self._num_worker))
                self._accumulator_list.append((accumulator, center.device))
        if self._is_chief:
            passed = self._set_shared(given, averages, shared, queue, global_step)
        else:
            with tf.control_dependencies(given), tf.device(global_step.device):
                passed = queue.dequeue()
        with tf.control_dependencies([passed]):
            return self._copy_shared(trained)

    def _accumulator(self, var: Any, center: Any) -> ConditionalAccumulator:
        """Return the accumulator of a variable of all workers.

        Raises:
          ValueError: if it is no reference variable.
        """
        if not isinstance(var._ref(), Tensor):
            raise ValueError("Unknown local variable type!")
        return tf.ConditionalAccumulator(
            var.dtype, shape=var.get_shape(), shared_name=f"{center.name}/var_accum"
        )

    def _set_shared(
        self, given: list[Any], averages: list[Any], shared: list[Any], queue: Any, global_step: Any
    ) -> Any:
        """Return the chief's part: shared variables become averages, and workers may go on."""
        updates = []
        with tf.control_dependencies(given):
            for average, center in zip(averages, shared, strict=True):
                with tf.device(center.device):
                    updates.append(tf.assign(center, average))
            with tf.device(global_step.device):
                updates.append(tf.assign_add(global_step, 1))
        with tf.control_dependencies(updates), tf.device(global_step.device):
            return queue.enqueue_many(tf.fill([self._num_worker - 1], tf.constant(False)))

    def _copy_shared(self, trained: list[Any]) -> Operation:
        """Set variables of the worker to the shared ones."""
        if not trained:
            raise ValueError("The list of local_variables should not be empty")
        updates = []
        for var in trained:
            with tf.device(var.device):
                updates.append(tf.assign(var, self._local_2_global[var].read_value()))
        return tf.group(*updates)

    def get_init_op(self) -> Operation:
        """Return the operation that sets all variables of the worker to the shared ones.

        Raises:
          ValueError: if there are none.
        """
        return self._copy_shared(tf.trainable_variables())

    def make_session_run_hook(self) -> ModelAverageHook:
        """Return a hook that makes the initializers of variables before the graph is final.

        As in TensorFlow it does not run the result of `get_init_op`.
        """
        return ModelAverageHook(self, self._is_chief)


class ModelAverageHook(SessionRunHook):
    """Hook that makes the initializers of a `ModelAverageOptimizer`'s variables; see there."""

    def __init__(self, optimizer: ModelAverageOptimizer, is_chief: bool) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief

    def begin(self) -> None:
        """Make the operations."""
        self._local_init_op = tf.local_variables_initializer()
        self._global_init_op = None
        if self._is_chief:
            self._global_init_op = tf.global_variables_initializer()
            self._chief_init_op = self._optimizer._chief_init_op
        self._variable_init_op = self._optimizer.get_init_op()
