"""Bases of strategies: interfaces for programs, and for libraries."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stillflow import errors, nest
from stillflow.autograph.hooks import tf_convert
from stillflow.distribute import context
from stillflow.distribute import devices as device_names
from stillflow.distribute.input_context import InputContext, InputReplicationMode
from stillflow.distribute.reduce_op import ReduceOp, as_reduce_op
from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.autograph_status import control_status_ctx
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import rank, shape, size
from stillflow.ops.control_flow.identity_and_group import group as group_operations
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import truediv
from stillflow.ops.math.reductions import reduce_sum
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableAggregation
from stillflow.variables.creation import variable_creator_scope
from stillflow.variables.variable_scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from stillflow.data.dataset_v1 import DatasetV1Adapter
    from stillflow.distribute.input import (
        DistributedDataset,
        DistributedDatasetsFromFunction,
        DistributedIterator,
    )
    from stillflow.distribute.steps import MultiStepContext


@export("compat.v2.distribute.Strategy")
class StrategyV2:
    """A way of running replicas of a program's step on devices.

    Args:
      extended: the `StrategyExtended` that does the work.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._scale_loss_for_estimator = False

    @property
    def extended(self) -> Any:
        """The part of the strategy that libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        return self._extended._num_replicas_in_sync

    @contextlib.contextmanager
    def _scale_loss_for_estimator_enabled(self) -> Iterator[None]:
        """Return a context in which optimizers divide mean losses by the number of replicas."""
        self._scale_loss_for_estimator = True
        try:
            yield
        finally:
            self._scale_loss_for_estimator = False

    def scope(self) -> Any:
        """Return a context in which this is the strategy, and variables are made where it says."""
        return self._extended._scope(self)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        return self._extended.colocate_vars_with(colocate_with_variable)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Build `fn(*args, **kwargs)` for each replica.

        Returns:
          The result of `fn`, each tensor as a value that has a part in each replica.
        """
        with self.scope():
            fn = tf_convert(fn, control_status_ctx(), by_default=False)
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Tensor:
        """Build `fn`, given the next element of an iterator if there is one, for each replica."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """One value of those of all replicas.

        Args:
          reduce_op: a `ReduceOp`.
          value: the result of `experimental_run_v2`.
          axis: a dimension to reduce too, of which replicas may have different sizes, or None.

        Raises:
          TypeError: if `axis` is no integer.
          ValueError: if the value has no such dimension.
        """
        self._extended._require_cross_replica()
        how = as_reduce_op(reduce_op)
        if axis is None:
            return self._extended._reduce(how, value)
        if how == ReduceOp.SUM:
            value = self.experimental_run_v2(lambda v: reduce_sum(v, axis=axis), args=(value,))
            return self._extended._reduce(how, value)
        if not isinstance(axis, int):
            raise TypeError(f"Expected `axis` to be an integer not: {axis!r}")
        parts = self.experimental_run_v2(lambda v: _sum_and_count(v, axis), args=(value,))
        total, count = (self._extended._reduce(ReduceOp.SUM, part) for part in parts)
        return truediv(total, cast(count, total.dtype))

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Return the values of all replicas."""
        return self._extended._local_results(value)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of all replicas."""
        return self._extended._local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """Return an operation that runs those of all replicas."""
        return self._extended._group(value, name)

    def make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        """Return an iterator over a dataset whose batches the replicas share."""
        return self._extended._make_dataset_iterator(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> DistributedIterator:
        """Return an iterator over the results of `input_fn`: a dataset of each replica's batches.

        Raises:
          ValueError: if the mode is another than `PER_WORKER`.
        """
        if replication_mode != InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        with self.scope():
            return self._extended._make_input_fn_iterator(input_fn, replication_mode)

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> DatasetV1Adapter:
        """Return a dataset of the rows of arrays in some structure, which variables hold."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session=None)

    def experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        """Return a dataset whose batches the replicas share."""
        return self._extended._experimental_distribute_dataset(dataset)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Any
    ) -> DistributedDatasetsFromFunction:
        """Return the dataset that `dataset_fn` makes, of each replica's batches."""
        return self._extended._experimental_distribute_datasets_from_function(dataset_fn)

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: Any = None,
        task_id: Any = None,
    ) -> None:
        """Record a cluster, and adapt a `ConfigProto` to the strategy."""
        self._extended._configure(session_config, cluster_spec, task_type, task_id)

    def update_config_proto(self, config_proto: Any) -> Any:
        """Return a `ConfigProto` for sessions that run the strategy's graph."""
        return self._extended._update_config_proto(config_proto)

    def __copy__(self) -> Any:
        raise RuntimeError("Must only deepcopy DistributionStrategy.")


@export("distribute.Strategy", "contrib.distribute.DistributionStrategy")
class Strategy(StrategyV2):
    __doc__ = StrategyV2.__doc__

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """See `tf.compat.v2.distribute.Strategy.reduce`; `axis` may be left out."""
        return super().reduce(reduce_op, value, axis)

    def experimental_make_numpy_dataset(
        self, numpy_input: Any, session: Any = None
    ) -> DatasetV1Adapter:
        """Return a dataset of the rows of arrays, which variables hold.

        Args:
          numpy_input: arrays in some structure.
          session: a session that gives the variables their values.
        """
        return self._extended.experimental_make_numpy_dataset(numpy_input, session=session)


def _sum_and_count(value: Any, axis: int) -> tuple[Any, Any]:
    """Return the sum over a dimension, and the dimension's size."""
    total = reduce_sum(value, axis=axis)
    dims = value.shape.rank
    index: Any = axis
    if dims is not None:
        if not -dims <= axis < dims:
            raise ValueError(f"`axis` = {axis!r} out of range for `value` with rank {dims}")
        index = axis % dims
        known = value.shape.as_list()[index]
        if known is not None:
            return total, known
    elif axis < 0:
        index = axis + rank(value)
    if dims == 1:
        return total, size(value, out_type=dtypes.int64)
    return total, shape(value, out_type=dtypes.int64)[index]


@export("distribute.StrategyExtended", "compat.v2.distribute.StrategyExtended")
class StrategyExtended:
    """Extension of a strategy for libraries.

    Args:
      container_strategy: the strategy it belongs to.
    """

    _default_device: str | None = None
    _require_static_shapes = False
    _global_batch_size = True
    experimental_between_graph = False

    def __init__(self, container_strategy: StrategyV2) -> None:
        self._strategy = container_strategy

    def run_as_own_task(self, function: Callable[[Any], Any]) -> Any:
        """Return `function(strategy)`; a worker of several calls it as its task, which serves."""
        return function(self._strategy)

    @property
    def experimental_should_init(self) -> bool:
        """True where variables are initialized, not waited for."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """True where checkpoints are written."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """True where summaries are written."""
        return True

    def _container_strategy(self) -> StrategyV2:
        return self._strategy

    # ---- scopes and variables

    def _scope(self, strategy: StrategyV2) -> Any:
        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            self._require_scope()
            kwargs["use_resource"] = True
            kwargs["distribute_strategy"] = strategy
            return self._create_variable(next_creator, **kwargs)

        def get(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if not self._allow_variable_partition() and kwargs.pop("partitioner", None) is not None:
                logging.log_first_n(
                    logging.WARN,
                    "Partitioned variables are disabled when using current "
                    "tf.distribute.Strategy.", 1,
                )  # fmt: skip
            return getter(*args, **kwargs)

        return _Scope(
            strategy,
            variable_creator_scope(create),
            variable_scope(get_variable_scope(), custom_getter=get),
            self._default_device,
        )

    def _allow_variable_partition(self) -> bool:
        return False

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        raise _must_implement()

    def variable_created_in_scope(self, v: Any) -> bool:
        """Return True if a variable was made in a scope of the strategy."""
        return getattr(v, "_distribute_strategy", None) is self._strategy

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """Return a context in which variables are made where another one is."""
        self._require_scope()
        self._validate_colocate_with_variable(colocate_with_variable)

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            self._require_scope()
            kwargs["use_resource"] = True
            kwargs["colocate_with"] = colocate_with_variable
            return next_creator(**kwargs)

        return variable_creator_scope(create)

    def _validate_colocate_with_variable(self, colocate_with_variable: Any) -> None:
        """Raise ValueError if variables cannot be made where something is."""

    def read_var(self, v: Any) -> Any:
        """Return the value of a variable, of all replicas together."""
        raise _must_implement()

    def value_container(self, value: Any) -> Any:
        """Return the distributed value that a value is a part of."""
        raise _must_implement()

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Return the devices of variables that belong to all of `var_list`."""
        raise _must_implement()

    # ---- replicas

    @property
    def _num_replicas_in_sync(self) -> int:
        raise _must_implement()

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        raise _must_implement()

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that variables are on."""
        raise _must_implement()

    @property
    def experimental_require_static_shapes(self) -> bool:
        return self._require_static_shapes

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Build `fn(*args, **kwargs)` for each replica.

        Raises:
          RuntimeError: inside of a replica, or in the scope of another strategy.
        """
        self._require_cross_replica()
        with self._strategy.scope():
            return self._call_for_each_replica(fn, args, kwargs or {})

    def _call_for_each_replica(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        raise _must_implement()

    def _reduce(self, reduce_op: ReduceOp, value: Any) -> Any:
        where = device_names.current() or "/device:CPU:0"
        return self._local_results(self._reduce_to(reduce_op, value, where))[0]

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """One value of those of all replicas, on some devices.

        Args:
          reduce_op: a `ReduceOp`.
          value: a value of each replica.
          destinations: the name of a device, or something that is where the result shall be.
        """
        self._require_cross_replica()
        assert not isinstance(destinations, (list, tuple))
        assert not isinstance(reduce_op, VariableAggregation)
        return self._reduce_to(as_reduce_op(reduce_op), value, destinations)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        raise _must_implement()

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """`reduce_to` of several values."""
        self._require_cross_replica()
        assert not isinstance(reduce_op, VariableAggregation)
        return self._batch_reduce_to(as_reduce_op(reduce_op), value_destination_pairs)

    def _batch_reduce_to(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Return a value copied to some devices."""
        assert destinations is not None
        self._require_cross_replica()
        assert not isinstance(destinations, (list, tuple))
        return self._broadcast_to(tensor, destinations)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        raise _must_implement()

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None,
        group: bool = True,
    ) -> Any:  # fmt: skip
        """Build `fn(var, *args, **kwargs)` where each part of the variable is.

        Args:
          var: a variable made in the strategy's scope.
          fn: a function of a variable and of values that are equal in all replicas.
          args, kwargs: its other arguments.
          group: whether the results become one; else they are a tuple.
        """
        self._require_cross_replica()
        with self._strategy.scope():
            return self._update(var, fn, args, kwargs or {}, group)

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        raise _must_implement()

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None,
        group: bool = True,
    ) -> Any:  # fmt: skip
        """Build `fn(*args, **kwargs)` on the devices that `non_slot_devices` gave."""
        self._require_cross_replica()
        with self._strategy.scope():
            return self._update_non_slot(colocate_with, fn, args, kwargs or {}, group)

    def _update_non_slot(
        self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        raise _must_implement()

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        raise _must_implement()

    def _group(self, value: Any, name: str | None = None) -> Any:
        flat = nest.flatten(self._local_results(value))
        if len(flat) != 1 or name is not None:
            return group_operations(*flat, name=name)
        return getattr(flat[0], "op", flat[0])

    # ---- input

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        raise _must_implement()

    def _make_input_fn_iterator(self, input_fn: Any, replication_mode: Any) -> Any:
        raise _must_implement()

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        raise _must_implement()

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        raise _must_implement()

    def experimental_make_numpy_dataset(
        self, numpy_input: Any, session: Any = None
    ) -> DatasetV1Adapter:
        """Return a dataset of the rows of arrays, which variables hold."""
        self._require_cross_replica()
        return self._experimental_make_numpy_dataset(numpy_input, session)

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> Any:
        raise _must_implement()

    def experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int = 1,
        initial_loop_values: Any = None,
    ) -> MultiStepContext:  # fmt: skip
        """Build a loop of `fn(context, inputs)` over the elements of an iterator.

        Args:
          fn: a function of a `MultiStepContext` and of the next element.
          iterator: an iterator that the strategy made.
          iterations: how many steps to run.
          initial_loop_values: what the outputs of a step are before the first one.

        Returns:
          The `MultiStepContext`, whose `run_op` runs the loop.
        """
        self._require_cross_replica()
        with self._strategy.scope():
            return self._experimental_run_steps_on_iterator(
                fn, iterator, iterations, initial_loop_values
            )

    def _experimental_run_steps_on_iterator(
        self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> Any:
        raise _must_implement()

    # ---- sessions

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        """Record a cluster; strategies of one process have none."""

    def _update_config_proto(self, config_proto: Any) -> Any:
        return copy.deepcopy(config_proto)

    # ---- where methods may be called

    def _require_scope(self) -> None:
        if context.current().strategy is not self._strategy:
            raise context.wrong_scope(self._strategy)

    def _require_cross_replica(self) -> None:
        mode = context.current()
        if mode.cross_replica is self._strategy or context.is_default(mode):
            return
        if mode.strategy is not self._strategy:
            raise context.wrong_scope(self._strategy)
        raise RuntimeError(
            "Method requires being in cross-replica context, use get_replica_context().merge_call()"
        )


def require_variable_of(strategy: StrategyV2, variable: Any, is_one: bool) -> None:
    """Raise ValueError unless variables can be colocated with `variable`, one of the strategy.

    `is_one` says whether it is a variable of any strategy at all.
    """
    refused = "`colocate_vars_with` must only be passed a variable created in this "
    refused += "tf.distribute.Strategy.scope(), not"
    if not is_one:
        raise ValueError(f"{refused}: {variable!r}")
    made_in = variable._distribute_strategy
    if made_in is not strategy:
        raise ValueError(f"{refused} {variable} created in scope: {made_in}")


def _must_implement() -> NotImplementedError:
    return NotImplementedError("must be implemented in descendants")


class _Scope:
    """The context in which a strategy is current; entering it again changes nothing."""

    def __init__(
        self, strategy: StrategyV2, creators: Any, variables: Any, default_device: str | None
    ) -> None:
        self._strategy = strategy
        self._inner = [("Variable", variables), ("Variable creator", creators)]
        if default_device:
            self._inner.append(("Device", device(default_device)))
        self._entered, self._again = list(self._inner), 0

    def __enter__(self) -> StrategyV2:
        if context.has_strategy():
            self._strategy.extended._require_cross_replica()
            self._again += 1
        else:
            context.push(context.cross_replica_mode(self._strategy))
            self._entered = list(self._inner)
            for _, inner in self._inner:
                inner.__enter__()
        return self._strategy

    def __exit__(self, *details: Any) -> None:
        if self._again:
            self._again -= 1
            return
        while self._entered:
            kind, inner = self._entered.pop()
            with scope_exit(kind):
                inner.__exit__(*details)
        context.pop()


@contextlib.contextmanager
def scope_exit(kind: str) -> Iterator[None]:
    """Return a context in which a scope ends; RuntimeError if another one was entered in it."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"{kind} scope nesting error: move call to tf.distribute.set_strategy() out of `with` "
            "scope."
        ) from error


def unsupported(what: str) -> errors.OpError:
    """Return the error for features of several processes, or for incompatible devices."""
    return errors.unimplemented(f"Stillflow does not support {what} yet")
