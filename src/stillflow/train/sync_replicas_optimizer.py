"""Training in step: gradients of all replicas are averaged before they change variables.

Each replica puts its gradients into accumulators on the parameter servers, then waits for a token
to go on. The chief's queue runner takes the averages once enough gradients are in, updates the
variables and the global step, and puts a token, which is the new global step, into a queue for
every replica. A replica remembers the token as its local step; gradients of a step that is over
are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.distribute.context import get_strategy
from stillflow.graph.api import control_dependencies, device, name_scope
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import fill
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.queues.accumulator_classes import (
    ConditionalAccumulator,
    SparseConditionalAccumulator,
)
from stillflow.ops.queues.classes import FIFOQueue
from stillflow.platform import tf_logging as logging
from stillflow.train.optimizer import Optimizer
from stillflow.train.queue_runner import QueueRunner
from stillflow.train.session_manager import _ready
from stillflow.train.session_run_hook import SessionRunHook
from stillflow.util.notices import noticed
from stillflow.variables.base import Variable
from stillflow.variables.collections import global_variables, report_uninitialized_variables
from stillflow.variables.state_ops import assign


@export("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Optimizer whose replicas take each step together, with the mean of their gradients.

    Workers run the operation that `apply_gradients` gives; all of them use the hook that
    `make_session_run_hook` gives.

    Args:
      opt: the optimizer that changes the variables.
      replicas_to_aggregate: how many gradients make a step.
      total_num_replicas: number of replicas; by default `replicas_to_aggregate`. With more, the
        slowest are not waited for; with fewer, some contribute several times.
      variable_averages: a `tf.train.ExponentialMovingAverage` to be updated after each step.
      variables_to_average: the variables that it averages.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.
    """

    @noticed("train.SyncReplicasOptimizer")
    def __init__(
        self,
        opt: Any,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate, total_num_replicas,
        )  # fmt: skip
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._local_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: Any = None
        self._accumulator_list: list[tuple[Any, str]] = []  # with their devices
        self.chief_init_op: Any = None
        self.local_step_init_op: Any = None
        self.ready_for_local_init_op: Any = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of this replica; see `compute_gradients` of the optimizer inside."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Tensor:
        """Hand in this replica's gradients, and wait for the step to be over.

        Args:
          grads_and_vars: pairs of a gradient and its variable.
          global_step: a variable that counts the steps.
          name: ignored.

        Returns:
          What each replica runs: it gives the new local step.

        Raises:
          ValueError: if there are no variables, or no global step.
        """
        del name
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        self._make_local_step(global_step)
        with name_scope(None, self._name):
            handed_in, averages = self._accumulate(grads_and_vars)
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(averages, global_step)
                dummy_queue = self._make_queues(global_step)
                with control_dependencies(handed_in):
                    token = self._sync_token_queue.dequeue()
                train_op = assign(self._local_step, token)
                sync = self._let_go_on(update, global_step)
                self._chief_queue_runner = QueueRunner(dummy_queue, [sync])
            self._make_chief_init(global_step)
        self._gradients_applied = True
        return train_op

    def _make_local_step(self, global_step: Any) -> None:
        """Create a local variable of this replica's step, not on a parameter server."""
        anchor = no_op()
        with get_strategy().extended.colocate_vars_with(anchor):
            self._local_step = Variable(
                initial_value=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())

    def _accumulate(
        self, grads_and_vars: Iterable[Any]
    ) -> tuple[list[Operation], list[tuple[Any, Any]]]:
        """Put gradients into accumulators, each with its variable; give their averages too."""
        handed_in: list[Operation] = []
        averages: list[tuple[Any, Any]] = []
        for grad, var in grads_and_vars:
            if grad is None:
                averages.append((None, var))
                continue
            shared_name = f"{var.name}/grad_accum"
            accumulator: Any
            with device(var.device):
                if isinstance(grad, Tensor):
                    accumulator = ConditionalAccumulator(
                        grad.dtype, shape=var.get_shape(), shared_name=shared_name
                    )
                    apply, take = accumulator.apply_grad, accumulator.take_grad
                elif isinstance(grad, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(
                        grad.dtype, shape=(), shared_name=shared_name
                    )
                    apply = accumulator.apply_indexed_slices_grad
                    take = accumulator.take_indexed_slices_grad
                else:
                    raise ValueError("Unknown grad type!")
                handed_in.append(apply(grad, local_step=self._local_step))
                averages.append((take(self._replicas_to_aggregate), var))
            self._accumulator_list.append((accumulator, var.device))
        return handed_in, averages

    def _make_queues(self, global_step: Any) -> FIFOQueue:
        """Return the token queue, and a queue for the queue runner to close.

        The token queue itself would stay closed on the parameter servers.
        """
        self._sync_token_queue = FIFOQueue(
            -1,
            global_step.dtype.base_dtype,
            shapes=(),
            name="sync_token_q",
            shared_name="sync_token_q",
        )
        return FIFOQueue(1, "int32", shapes=(), name="dummy_queue", shared_name="dummy_queue")

    def _let_go_on(self, update: Any, global_step: Any) -> Operation:
        """Put tokens into the queue once the variables are updated."""
        count = max(self._total_num_replicas, self._replicas_to_aggregate)
        with control_dependencies([update]):
            sync = self._sync_token_queue.enqueue_many((fill([count], global_step),))
        if self._variable_averages is not None:
            with control_dependencies([sync]), name_scope(""):
                sync = self._variable_averages.apply(self._variables_to_average)
        return sync

    def _make_chief_init(self, global_step: Any) -> None:
        ready = [self.local_step_init_op]
        for accumulator, where in self._accumulator_list:
            with device(where):
                ready.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self.chief_init_op = group(*ready)

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the queue runner of the chief, which ends each step.

        Raises:
          ValueError: before `apply_gradients`.
        """
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the optimizer inside."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Any]:
        """Return the variables of the optimizer inside; the local step is none of them."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of the slots of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return the op that the chief runs first, so that replicas can take their first steps.

        Args:
          num_tokens: how many tokens it puts into the queue; as many as gradients make a step if
            -1.

        Raises:
          ValueError: before `apply_gradients`, or if that is too few for a step to be finished.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            tokens = fill([num_tokens], self._global_step)
            return self._sync_token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return a hook that prepares a replica's session.

        Args:
          is_chief: whether the replica is the chief, which ends the steps.
          num_tokens: see `get_init_tokens_op`.
        """
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Prepares the session of a replica; for `num_tokens` see `get_init_tokens_op`."""

    def __init__(
        self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int
    ) -> None:
        self._sync_optimizer = sync_optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        optimizer = self._sync_optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready_for_local_init_op = optimizer.ready_for_local_init_op
        self._initializers, self._queue_runners = [optimizer.local_step_init_op], []
        if self._is_chief:
            self._queue_runners = [optimizer.get_chief_queue_runner()]
            tokens = optimizer.get_init_tokens_op(self._num_tokens)
            self._initializers = [optimizer.chief_init_op, tokens]

    def after_create_session(self, session: Any, coord: Any) -> None:
        what = "Model is not ready for SyncReplicasOptimizer local init."
        _, reason = _ready(self._ready_for_local_init_op, session, what)
        if reason:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._initializers[0].name}, error: {reason}"
            )
        for initializer in self._initializers:
            session.run(initializer)
        for runner in self._queue_runners:
            runner.create_threads(session, coord=coord, daemon=True, start=True)
