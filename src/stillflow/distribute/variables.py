"""Variables with a part on each of several devices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.distribute import context
from stillflow.distribute import devices as device_names
from stillflow.distribute.device_map import DeviceMap
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import DistributedDelegate, DistributedValues, Mirrored
from stillflow.graph.api import device
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import register_dense_tensor_like_type
from stillflow.ops.control_flow.identity_and_group import group, identity
from stillflow.ops.math.comparison import logical_and
from stillflow.train.saveables import (
    VARIABLE_VALUE_KEY,
    ResourceVariableSaveable,
    SaveableObject,
    SaveSpec,
)
from stillflow.variables.base import VariableAggregation, VariableV2

_HOW_TO_AGGREGATE = (
    "You must specify an aggregation method to update a {kind} in Replica Context. You can do so "
    "by passing an explicit value for argument `aggregation` to tf.Variable(..).e.g. "
    "`tf.Variable(..., aggregation=tf.VariableAggregation.SUM)``tf.VariableAggregation` lists the "
    "possible aggregation methods.This is required because {kind} should always be kept in sync. "
    "When updating them or assigning to them in a replica context, we automatically try to "
    "aggregate the values before updating the variable. For this aggregation, we need to know the "
    "aggregation method. Another alternative is to not try to update such {kind} in replica "
    "context, but in cross replica context. You can enter cross replica context by calling "
    "`tf.distribute.get_replica_context().merge_call(merge_fn, ..)`.Inside `merge_fn`, you can "
    "then update the {kind} using `tf.distribute.StrategyExtended.update()`."
)


class DistributedVarOp(NamedTuple):
    """Stand-in for the operation of a variable of all replicas."""

    name: str
    graph: Any
    traceback: Any
    type: str

    def __hash__(self) -> int:
        return hash((self.name, self.graph, self.type))  # a traceback may be a list


def _of_primary(name: str) -> Any:
    return property(lambda self: getattr(self.primary, name))


class DistributedVariable(DistributedDelegate, VariableV2):
    """A variable with a part on each of several devices.

    Args:
      strategy: whose variable it is.
      device_map: the devices.
      values: the parts, resource variables.
      aggregation: a `tf.VariableAggregation`.
      logical_device: which device of each replica holds its part.
    """

    is_distributed = True
    is_tensor_like = True

    def __init__(
        self,
        strategy: Any,
        device_map: DeviceMap,
        values: Sequence[Any],
        aggregation: Any,
        logical_device: int | None = None,
    ) -> None:
        self._distribute_strategy = strategy
        self._aggregation = aggregation
        DistributedValues.__init__(self, device_map, values, logical_device)
        self._common_name = self.primary.name.split(":")[0]
        for value in values:
            value._distributed_container = weakref.ref(self)
        self._keras_initialized = False
        self._initializer_op = None

    graph = _of_primary("graph")
    name = _of_primary("name")
    dtype = _of_primary("dtype")
    shape = _of_primary("shape")
    synchronization = _of_primary("synchronization")
    trainable = _of_primary("trainable")
    constraint = _of_primary("constraint")
    _in_graph_mode = _of_primary("_in_graph_mode")
    _save_slice_info = _of_primary("_save_slice_info")

    @property
    def _unique_id(self) -> Any:
        return getattr(self.primary, "_unique_id", None)  # graphs need none

    @property
    def _shared_name(self) -> str:
        return self._common_name

    @property
    def aggregation(self) -> Any:
        return self._aggregation

    @property
    def distribute_strategy(self) -> Any:
        return self._distribute_strategy

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return True if all parts have values when the graph runs."""
        result = self.primary.is_initialized()
        for value in self._values[1:-1]:
            result = logical_and(result, value.is_initialized())
        return logical_and(result, self._values[-1].is_initialized(), name=name)

    @property
    def initializer(self) -> Any:
        """The operation that gives all parts their initial values."""
        if self._initializer_op is not None:
            return self._initializer_op
        return group(*(value.initializer for value in self._values))

    def _get_closest(self) -> Any:
        """Return the part of this replica, of the current device, or the first one."""
        if replica_context := context.get_replica_context():
            return self._device_map.select_for_current_replica(self._values, replica_context)
        here = context.update_device()
        if here is None:
            here = device_names.canonicalize(device_names.current())
        return self._part_on(here)

    def initialized_value(self) -> Tensor:
        return self._get_closest().initialized_value()

    @property
    def initial_value(self) -> Tensor:
        return self._get_closest().initial_value

    @property
    def handle(self) -> Any:
        """The resource handle of this replica's part.

        Raises:
          ValueError: where all replicas are meant and no part is being updated.
        """
        name = None
        if context.get_replica_context() is None:
            name = context.update_device()
            if not isinstance(name, str):  # or a variable, outside of the strategy
                raise ValueError(
                    "`handle` is not available outside the replica context or a "
                    "`tf.distribute.Strategy.update()` call."
                )
        return self.get(device=name).handle

    def eval(self, session: Any = None) -> np.float32:
        return self._get_closest().eval(session)

    @property
    def device(self) -> str:
        return str(self._get_closest().device)

    def get_shape(self) -> Any:
        return self.primary.get_shape()

    def _get_save_slice_info(self) -> Any:
        return self.primary._get_save_slice_info()

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        for value in self._values:
            value._set_save_slice_info(save_slice_info)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the first part as a `VariableDef`."""
        return self.primary.to_proto(export_scope=export_scope)

    @property
    def op(self) -> Any:
        if not context.in_cross_replica_context():
            return self.get().op
        first = self.primary.op
        return DistributedVarOp(first.name, first.graph, first.traceback, first.type)

    def value(self) -> Any:
        return self._get_closest().value()

    def read_value(self) -> Any:
        """Return the value of this replica's part, or of all together, where this is called."""
        with context.entered_or_required(self._distribute_strategy):
            return identity(self.get())

    def _should_act_as_resource_variable(self) -> bool:
        return True

    def _dense_var_to_tensor(
        self, dtype: Any = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        return convert_to_tensor(self.get(), dtype=dtype, name=name, as_ref=as_ref)

    def __repr__(self) -> str:
        return DistributedValues.__repr__(self)

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> DistributedVariable:
        return self


def _convert(var: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return var._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)


register_dense_tensor_like_type(DistributedVariable)
register_tensor_conversion_function(DistributedVariable, _convert)


def require_replica_of(strategy: Any) -> None:
    """Raise RuntimeError outside of the replicas of a strategy."""
    replica = context.get_replica_context()
    if not replica or replica.strategy is not strategy:
        raise RuntimeError("Replica-local variables may only be assigned in a replica context.")


def _aggregated(strategy: Any, value: Any, aggregation: Any, destinations: Any) -> Any:
    """One value of those that replicas assign."""
    extended = strategy.extended
    if aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
        first = strategy.experimental_local_results(value)[0]
        return extended.broadcast_to(first, destinations=destinations)
    return extended.reduce_to(ReduceOp.from_variable_aggregation(aggregation), value, destinations)


def assign_in_all(
    variable: Any, part: Callable[[str], Any], change: Callable[..., Any],
    args: Any, kwargs: Any, kind: str,
) -> Any:  # fmt: skip
    """Change a variable in all replicas, also where one of them asks for it.

    `part` gives it on a device; `change(part, *args, **kwargs)` changes one, by one value, or one
    for each replica. ValueError, which calls it `kind`, in a replica, if it is not said how values
    of replicas become one.
    """
    strategy = variable._distribute_strategy
    with context.entered_or_required(strategy):
        if context.in_cross_replica_context():
            where = context.update_device()
            if where is not None:
                return change(part(where), *args, **kwargs)
            return strategy.extended.update(variable, change, args=args, kwargs=kwargs)
        require_replica_of(strategy)
        if variable._aggregation == VariableAggregation.NONE:
            raise ValueError(_HOW_TO_AGGREGATE.format(kind=kind))

        def merge(strategy: Any, value: Any, *others: Any, **options: Any) -> Any:
            whole = _aggregated(strategy, value, variable._aggregation, variable)
            return strategy.extended.update(variable, change, args=(whole, *others), kwargs=options)

        return context.get_replica_context().merge_call(merge, args=args, kwargs=kwargs)


def assigner(name: str) -> Callable[..., Any]:
    """Return a function that changes a variable by one of its methods."""

    def change(variable: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(variable, name)(*args, **kwargs)

    return change


class MirroredVariable(DistributedVariable, Mirrored):
    """A variable whose parts are kept equal."""

    def _assign(self, name: str, args: Any, kwargs: Any) -> Any:
        return assign_in_all(
            self, lambda where: self.get(device=where), assigner(name), args, kwargs,
            "MirroredVariable",
        )  # fmt: skip

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Set all parts when run."""
        return self._assign("assign", args, kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Add to all parts when run."""
        return self._assign("assign_add", args, kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from all parts when run."""
        return self._assign("assign_sub", args, kwargs)

    def _get_cross_replica(self) -> Tensor:
        return identity(Mirrored._get_cross_replica(self))

    def _as_graph_element(self) -> Tensor:
        if context.in_cross_replica_context():
            return self.primary._as_graph_element()
        return self.get()._as_graph_element()

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        def make(name: str = self._common_name) -> Any:
            return _MirroredSaveable(self, name)

        return {VARIABLE_VALUE_KEY: make}


class _MirroredSaveable(ResourceVariableSaveable):
    """The first part is saved; all parts are restored."""

    def __init__(self, variable: MirroredVariable, name: str) -> None:
        self._variable = variable
        super().__init__(variable.primary, "", name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """Assign the read value to each part."""
        del restored_shapes
        (tensor,) = restored_tensors
        return group(*(_on_device(v, "assign", tensor) for v in self._variable.values))


def _on_device(variable: Any, method: str, tensor: Any) -> Any:
    with device(variable.device):
        return getattr(variable, method)(tensor)


class SyncOnReadVariable(DistributedVariable):
    """A variable whose parts go their own ways and are brought together where they are read."""

    is_read_for_graph = True  # an operation that takes the variable reads it once more

    def _change_all(self, method: str, args: Any, kwargs: Any) -> Any:
        with context.entered_or_required(self._distribute_strategy):
            if not context.in_cross_replica_context():
                return getattr(self.get(), method)(*args, **kwargs)
            tensor = args[0]
            if self._aggregation == VariableAggregation.SUM:
                if method != "assign":
                    raise ValueError(
                        f"SyncOnReadVariable does not support `{method}` in cross-replica context "
                        "when aggregation is set to `tf.VariableAggregation.SUM`."
                    )
                tensor = tensor * (1.0 / len(self.devices))
            return group(*(_on_device(value, method, tensor) for value in self._values))

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Set this replica's part, or lets all together have a value."""
        return self._change_all("assign", args, kwargs)

    def assign_add(self, *args: Any, **kwargs: Any) -> Any:
        """Add to this replica's part, or to each of them."""
        return self._change_all("assign_add", args, kwargs)

    def assign_sub(self, *args: Any, **kwargs: Any) -> Any:
        """Subtracts from this replica's part, or from each of them."""
        return self._change_all("assign_sub", args, kwargs)

    def _get_cross_replica(self) -> Any:
        if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return self.primary
        with context.entered_or_required(self._distribute_strategy):
            how = ReduceOp.from_variable_aggregation(self._aggregation)
            return self._distribute_strategy.reduce(how, self, axis=None)

    def _as_graph_element(self) -> Tensor:
        if context.in_cross_replica_context():
            return self._get_cross_replica()
        return self.get()._as_graph_element()

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        def make(name: str = self._common_name) -> Any:
            return _SyncOnReadSaveable(self, name)

        return {VARIABLE_VALUE_KEY: make}


class _SyncOnReadSaveable(SaveableObject):
    """Saveable of the aggregated value, which is distributed to the parts again."""

    def __init__(self, variable: SyncOnReadVariable, name: str) -> None:
        self._variable = variable

        def read() -> Any:
            strategy = variable._distribute_strategy
            return strategy.extended.read_var(variable)

        spec = SaveSpec(read, "", name, dtype=variable.dtype, device=variable.primary.device)
        super().__init__(read, [spec], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """Assign the read value."""
        del restored_shapes
        (tensor,) = restored_tensors
        return self._variable.assign(tensor)


def create_mirrored_variable(
    strategy: Any, device_map: DeviceMap, logical_device: int, make_parts: Callable[..., Any],
    **kwargs: Any,
) -> DistributedVariable:  # fmt: skip
    """Make a variable with a part on each device, by `make_parts(devices, **kwargs)`.

    ValueError for an unknown synchronization or aggregation.
    """
    from stillflow.graph import tapes

    collections = kwargs.pop("collections", None)
    kwargs["collections"] = []
    kind = _kind_of(kwargs)
    aggregation = aggregation_of(kwargs)
    kwargs.pop("caching_device", None)
    with tapes.stopped():
        devices = device_map.logical_to_actual_devices(logical_device)
        parts = make_parts(devices, **kwargs)
        result = kind(strategy, device_map, parts, aggregation, logical_device)
    keep_whole(result, parts, collections, kwargs.get("trainable", True))
    return result


def aggregation_of(kwargs: dict[str, Any]) -> VariableAggregation:
    """Remove and return the aggregation from a variable's arguments; ValueError if invalid."""
    aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
    if aggregation not in list(VariableAggregation):
        raise ValueError(
            f"Invalid variable aggregation mode: {aggregation} for variable: {kwargs['name']}"
        )
    return aggregation


def keep_whole(whole: Any, parts: Sequence[Any], collections: Any, is_trainable: bool) -> None:
    """Put a variable into collections instead of its parts.

    None as `collections` stands for that of all variables.
    """
    from stillflow.graph.graph import get_default_graph
    from stillflow.graph.graph_keys import GraphKeys

    graph = get_default_graph()
    names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    if not graph.runs_at_once:
        if is_trainable:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
            trainable = graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
            trainable[:] = [v for v in trainable if not any(v is part for part in parts)]
        graph.add_to_collections(names, whole)
    elif GraphKeys.GLOBAL_STEP in names:
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, whole)


def _kind_of(kwargs: dict[str, Any]) -> type[Any]:
    from stillflow.variables.base import VariableSynchronization

    how = kwargs.get("synchronization", VariableSynchronization.ON_WRITE)
    if how == VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with `Mirrored` distribution "
            f"strategy. Please change the `synchronization` for variable: {kwargs['name']}"
        )
    if how == VariableSynchronization.ON_READ:
        return SyncOnReadVariable
    if how in (VariableSynchronization.ON_WRITE, VariableSynchronization.AUTO):
        return MirroredVariable
    raise ValueError(f"Invalid variable synchronization mode: {how} for variable: {kwargs['name']}")
