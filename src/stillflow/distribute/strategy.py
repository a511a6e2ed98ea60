"""Strategies with one replica: the default one, and the base of those that name a device."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors, nest
from stillflow.distribute import context
from stillflow.distribute.reduce_op import as_reduce_op
from stillflow.graph.api import colocate_with, device
from stillflow.graph.export import export
from stillflow.ops.constants import constant
from stillflow.ops.control import group, identity
from stillflow.variables.creation import variable_creator_scope


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """How input pipelines are spread: one for each worker."""

    PER_WORKER = "PER_WORKER"


@export("distribute.InputContext")
class InputContext:
    """What an input function learns of where its pipeline runs."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """A replica's share of a batch.

        Raises:
          ValueError: if the batch cannot be shared evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync!r} "
            )
        return global_batch_size // self.num_replicas_in_sync


@export("distribute.Strategy")
class Strategy:
    """A way of running replicas of a program's step on devices.

    Args:
      extended: the `StrategyExtended` that does the work.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> StrategyExtended:
        """The part of the strategy that libraries use."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        return self._extended._num_replicas_in_sync

    def scope(self) -> Any:
        """A context in which this is the strategy, and variables are made where it says."""
        return self._extended._scope(self)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        return self._extended.colocate_vars_with(colocate_with_variable)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Builds `fn(*args, **kwargs)` for each replica."""
        return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Builds `fn`, given the next element of an iterator if there is one, for each replica."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
            return self.experimental_run_v2(fn, args=args)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """One value of those of all replicas.

        Args:
          reduce_op: a `ReduceOp`.
          value: what `experimental_run_v2` gave.
          axis: a dimension to reduce too.

        Raises:
          TypeError: if `axis` is no integer.
        """
        from stillflow.ops.math.reductions import reduce_mean, reduce_sum

        how = as_reduce_op(reduce_op)
        if axis is not None:
            if not isinstance(axis, int):
                raise TypeError(f"Expected `axis` to be an integer not: {axis!r}")
            within = reduce_sum if how.name == "SUM" else reduce_mean
            value = nest.map_structure(lambda part: within(part, axis=axis), value)
        return nest.map_structure(
            lambda part: self._extended._reduce_to(how, part, "/device:CPU:0"), value
        )

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas."""
        return self._extended._local_results(value)

    experimental_local_results = unwrap

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs those of all replicas."""
        return group(*self.unwrap(value), name=name)

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator over a dataset whose batches the replicas share."""
        return self._extended._iterator(dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> Any:
        """An iterator over the dataset that `input_fn` makes.

        Raises:
          ValueError: if the mode is another than `PER_WORKER`.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode}")
        with self.scope():
            return self._extended._iterator(input_fn(InputContext()))

    def experimental_distribute_dataset(self, dataset: Any) -> Any:
        return dataset

    def experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        return dataset_fn(InputContext())

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: Any = None,
        task_id: Any = None,
    ) -> None:
        """Takes note of a cluster; strategies of one process have none."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """A `ConfigProto` for sessions that run what the strategy builds."""
        copy = type(config_proto)()
        copy.CopyFrom(config_proto)
        return copy

    def __copy__(self) -> Any:
        raise RuntimeError("Must only deepcopy DistributionStrategy.")


@export("distribute.StrategyExtended")
class StrategyExtended:
    """What libraries use of a strategy; this one has one replica.

    Args:
      container_strategy: the strategy it belongs to.
    """

    _num_replicas_in_sync = 1
    experimental_between_graph = False
    experimental_should_init = True
    experimental_require_static_shapes = False
    should_checkpoint = True
    should_save_summary = True

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy = container_strategy

    def _container_strategy(self) -> Strategy:
        return self._strategy

    def _scope(self, strategy: Strategy) -> Any:
        return _Scope(strategy, self._create_variable, self._default_device())

    def _default_device(self) -> str | None:
        return None

    def _device_scope(self) -> Any:
        """Where operations of the replica are made."""
        return contextlib.nullcontext()

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        raise NotImplementedError("must be implemented in descendants")

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in a scope of the strategy."""
        return getattr(v, "_distribute_strategy", None) is self._strategy

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A context in which variables are made where another one is."""
        self._require_scope()

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            self._require_scope()
            kwargs["use_resource"] = True
            with colocate_with(colocate_with_variable):
                return next_creator(**kwargs)

        return variable_creator_scope(create)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        """Builds `fn(*args, **kwargs)` for each replica.

        Raises:
          RuntimeError: inside of a replica, or in the scope of another strategy.
        """
        self._require_cross_replica()
        with self._device_scope(), ReplicaContext(self._strategy, constant(0)):
            return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """One value of those of all replicas, on some devices."""
        self._require_cross_replica()
        return self._reduce_to(as_reduce_op(reduce_op), value, destinations)

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """`reduce_to` of several values."""
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        del reduce_op, destinations  # of one value
        return value

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A value copied to some devices."""
        self._require_cross_replica()
        del destinations
        return tensor

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None,
        group: bool = True,
    ) -> Any:  # fmt: skip
        """Builds `fn(var, *args, **kwargs)` where the variable is."""
        return self.update_non_slot(var, fn, (var, *args), kwargs, group)

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None,
        group: bool = True,
    ) -> Any:  # fmt: skip
        """Builds `fn(*args, **kwargs)` on the devices that `non_slot_devices` gave."""
        self._require_cross_replica()
        del colocate_with
        with self._strategy.scope(), self._device_scope():
            result = fn(*args, **(kwargs or {}))
        return result if group else nest.map_structure(self._local_results, result)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return identity(v)

    def value_container(self, value: Any) -> Any:
        return value

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Where variables that belong to all of `var_list` are made."""
        raise NotImplementedError("must be implemented in descendants")

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def _iterator(self, dataset: Any) -> Any:
        return _Iterator(dataset)

    def _require_scope(self) -> None:
        if context.current().strategy is not self._strategy:
            raise _wrong_scope(self._strategy)

    def _require_cross_replica(self) -> None:
        mode = context.current()
        if mode.cross_replica is self._strategy or context.is_default(mode):
            return
        if mode.strategy is not self._strategy:
            raise _wrong_scope(self._strategy)
        raise RuntimeError(
            "Method requires being in cross-replica context, use get_replica_context().merge_call()"
        )


def _wrong_scope(strategy: Strategy) -> RuntimeError:
    if not context.has_strategy():
        return RuntimeError(f'Need to be inside "with strategy.scope()" for {strategy}')
    return RuntimeError(
        "Mixing different tf.distribute.Strategy objects: "
        f"{context.get_strategy()} is not {strategy}"
    )


class _Iterator:
    """An iterator over a dataset, started anew by its `initialize()` operations."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = dataset.make_initializable_iterator()

    def get_next(self) -> Any:
        return self._iterator.get_next()

    def initialize(self) -> list[Any]:
        return [self._iterator.initializer]


class _Scope:
    """The context in which a strategy is current; entering it again changes nothing."""

    def __init__(self, strategy: Strategy, create: Callable[..., Any], name: str | None) -> None:
        self._strategy = strategy
        self._create = create
        self._device = name
        self._stacks: list[contextlib.ExitStack] = []

    def __enter__(self) -> Strategy:
        stack = contextlib.ExitStack()
        if context.has_strategy():
            self._strategy.extended._require_cross_replica()
        else:
            context.push(context.cross_replica_mode(self._strategy))
            stack.callback(context.pop)
            stack.enter_context(variable_creator_scope(self._create_variable))
            if self._device:
                stack.enter_context(device(self._device))
        self._stacks.append(stack)
        return self._strategy

    def __exit__(self, *details: Any) -> None:
        self._stacks.pop().__exit__(*details)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        self._strategy.extended._require_scope()
        kwargs["use_resource"] = True
        made = self._create(next_creator, **kwargs)
        made._distribute_strategy = self._strategy
        return made


@export("distribute.ReplicaContext")
class ReplicaContext:
    """The replica that operations are made for.

    Args:
      strategy: its strategy.
      replica_id_in_sync_group: which one it is, an integer or a tensor.
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    def __enter__(self) -> ReplicaContext:
        context.push(context.replica_mode(self))
        return self

    def __exit__(self, *details: object) -> None:
        context.pop()

    @property
    def strategy(self) -> Strategy:
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Any:
        self._require()
        return self._replica_id

    @property
    def devices(self) -> tuple[str, ...]:
        """Where its operations are made."""
        self._require()
        return tuple(self._strategy.extended.worker_devices)  # type: ignore[attr-defined]

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Builds `merge_fn(strategy, *args, **kwargs)` once, for all replicas together."""
        self._require()
        context.push(context.cross_replica_mode(self._strategy))
        try:
            return merge_fn(self._strategy, *args, **(kwargs or {}))
        finally:
            context.pop()

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """One value of those of all replicas, in each of them."""
        how = as_reduce_op(reduce_op)
        return self.merge_call(
            lambda strategy, whole: nest.map_structure(
                lambda part: strategy.extended._reduce_to(how, part, part), whole
            ),
            args=(value,),
        )

    def _require(self) -> None:
        mode = context.current()
        if mode.replica is self:
            return
        if mode.replica is None:
            raise RuntimeError("Need to be inside `call_for_each_replica()`")
        if mode.strategy is self._strategy:
            raise RuntimeError("Mismatching ReplicaContext.")
        raise RuntimeError(
            f"Mismatching tf.distribute.Strategy objects: {mode.strategy} is not {self._strategy}."
        )


class DefaultStrategy(Strategy):
    """The strategy where none was entered: one replica, wherever the program says."""

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("Should only create a single instance of _DefaultDistributionStrategy")


class _DefaultExtended(StrategyExtended):
    def _scope(self, strategy: Strategy) -> Any:
        return _DefaultScope(strategy)

    def variable_created_in_scope(self, v: Any) -> bool:
        return getattr(v, "_distribute_strategy", None) is None

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        self._require_scope()
        return colocate_with(colocate_with_variable)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        return min(var_list, key=lambda variable: variable.name)

    @property
    def worker_devices(self) -> Any:
        raise RuntimeError("worker_devices() method unsupported by default tf.distribute.Strategy.")

    @property
    def parameter_devices(self) -> Any:
        raise RuntimeError(
            "parameter_devices() method unsupported by default tf.distribute.Strategy."
        )


class _DefaultScope:
    """Does nothing, except that no other strategy may be entered."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def __enter__(self) -> Strategy:
        if context.has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return self._strategy

    def __exit__(self, *details: object) -> None:
        pass


def unsupported(what: str) -> errors.OpError:
    """The error for what needs several devices or processes."""
    return errors.UnimplementedError(None, None, f"Stillflow does not support {what} yet")
