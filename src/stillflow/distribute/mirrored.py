"""`tf.distribute.MirroredStrategy`: a replica on each of several devices of this process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.distribute import cluster_tasks, context
from stillflow.distribute import cross_device_ops as cross_device
from stillflow.distribute import devices as device_names
from stillflow.distribute.cluster_resolver.tf_config import TFConfigClusterResolver
from stillflow.distribute.device_map import LogicalDeviceSpec, ReplicaDeviceMap
from stillflow.distribute.input import InputOfReplicas, InputWorkers
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.numpy_dataset import SingleDevice, one_host_numpy_dataset
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.replica_threads import call_for_each_replica
from stillflow.distribute.steps import MultiStepContext, run_steps
from stillflow.distribute.strategy import (
    Strategy,
    StrategyExtended,
    StrategyV2,
    require_variable_of,
)
from stillflow.distribute.values import (
    DistributedValues,
    Mirrored,
    PerReplica,
    regroup,
    select_device_mirrored,
    update_regroup,
    value_container,
)
from stillflow.distribute.variables import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
    create_mirrored_variable,
)
from stillflow.graph import tapes
from stillflow.graph.api import device, name_scope
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.runtime.devices.devices import gpu_count

_JOBS = ("chief", "worker")


def is_local(names: Sequence[str]) -> bool:
    """Return True if devices are of this process, False if all are of tasks of a cluster.

    Raises:
      ValueError: if only some of them name a task.
    """
    found = {DeviceSpecV2.from_string(name).job in (None, "localhost") for name in names}
    if len(found) > 1:
        raise ValueError("Names of devices must all have a task, or none of them.")
    return found.pop()


def devices_by_worker(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the devices of each worker, by its own device; chiefs come first.

    Raises:
      ValueError: if a device is of another job, or of no task of it.
    """
    specs = [(DeviceSpecV2.from_string(name), name) for name in names]
    if any(spec.job not in _JOBS or spec.task is None for spec, _ in specs):
        raise ValueError(f"Devices {names} are not of tasks of the jobs chief and worker.")
    workers: dict[str, list[str]] = {}
    for spec, name in sorted(specs, key=lambda pair: (_JOBS.index(pair[0].job), pair[0].task)):
        workers.setdefault(f"/job:{spec.job}/task:{spec.task}", []).append(name)
    return workers


def devices_of_cluster(cluster_spec: Any, gpus: int) -> list[str]:
    """Return so many GPUs of each worker of a cluster, or its CPU."""
    jobs = cluster_tasks.normalize_cluster_spec(cluster_spec).as_dict()
    workers = [f"/job:{job}/task:{task}" for job in _JOBS for task in range(len(jobs.get(job, [])))]
    kinds = [f"GPU:{index}" for index in range(gpus)] or ["CPU:0"]
    return [f"{worker}/device:{kind}" for worker in workers for kind in kinds]


class ReplicasExtended(InputOfReplicas, StrategyExtended):
    """Base of strategies with a replica on each of several devices."""

    _device_map: ReplicaDeviceMap
    _host = SingleDevice("/cpu:0")
    _cross_device_ops: cross_device.CrossDeviceOps

    @property
    def _num_replicas_in_sync(self) -> int:
        return self._device_map.num_replicas_in_graph

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return self._device_map.all_devices

    @property
    def worker_devices_by_replica(self) -> Iterator[tuple[str, ...]]:
        return self._device_map.devices_by_replica

    def _call_for_each_replica(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return call_for_each_replica(self._strategy, self._device_map, fn, args, kwargs)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if isinstance(tensor, (float, int)):
            return tensor  # which takes the type of the other operand
        destinations = destinations or LogicalDeviceSpec(self._device_map, 0)
        return self._cross_device_ops.broadcast(tensor, destinations)

    def _batch_reduce_to(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        return self._cross_device_ops.batch_reduce(reduce_op, value_destination_pairs)

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return value.values if isinstance(value, DistributedValues) else (value,)

    def value_container(self, value: Any) -> MirroredVariable:
        return value_container(value)

    def _on_each(self, names: Sequence[str], build: Callable[[int, str], Any], group: bool) -> Any:
        """Return `build(index, device)` of each device, as one value or as a tuple."""
        updates = []
        for index, name in enumerate(names):
            with device(name), context.updating(name), name_scope(f"update_{index}"):
                updates.append(build(index, name))
        return update_regroup(self, self._device_map, updates, group)

    def _experimental_run_steps_on_iterator(
        self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        def join(parts: Any) -> PerReplica:
            return regroup(self._device_map, parts)

        return run_steps(self, fn, iterator, iterations, initial_loop_values, join)

    def _input_contexts(self) -> list[InputContext]:
        count, replicas = self._input_workers.num_workers, self._num_replicas_in_sync
        return [InputContext(count, index, replicas) for index in range(count)]

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> DatasetV1Adapter:
        return one_host_numpy_dataset(numpy_input, self._host, session)

    def _update_config_proto(self, config_proto: Any) -> Any:
        updated = copy.deepcopy(config_proto)
        updated.isolate_session_state = True
        return updated


class MirroredExtended(ReplicasExtended):
    """Extension of `MirroredStrategy` for libraries."""

    def __init__(
        self, container_strategy: StrategyV2, devices: Sequence[str] | None, cross_device_ops: Any
    ) -> None:
        super().__init__(container_strategy)
        self._given_ops, at_once = cross_device_ops, executing_eagerly_outside_functions()
        if at_once and devices and not is_local(devices):
            raise RuntimeError(
                "In-graph multi-worker training with `MirroredStrategy` is not supported in eager "
                "mode."
            )
        cluster = {} if at_once else TFConfigClusterResolver().cluster_spec().as_dict()
        if not devices and cluster:
            devices = devices_of_cluster(cluster, gpu_count())
        self._replicate_on(devices or device_names.local_devices())
        self.experimental_enable_get_next_as_optional = at_once

    def _replicate_on(self, names: Sequence[str]) -> None:
        resolved = tuple(device_names.resolve(name) for name in names)
        assert len(set(resolved)) == len(resolved), (
            f"No duplicates allowed in `devices` argument: {resolved}"
        )
        self._device_map = ReplicaDeviceMap(resolved)
        if is_local(resolved):
            self._cross_device_ops = self._given_ops or cross_device.choose_the_best(resolved)
            self._input_workers = InputWorkers(self._device_map)
            return
        workers = devices_by_worker(resolved)
        self._default_device = next(iter(workers))
        self._host = SingleDevice(self._default_device)
        self._input_workers = InputWorkers(self._device_map, list(workers.items()))
        if len(workers) > 1 and not getattr(self._given_ops, "reduces_over_tasks", False):
            raise ValueError(
                "In-graph multi-worker training with `MirroredStrategy` is not supported."
            )
        self._cross_device_ops = self._given_ops or cross_device.NcclAllReduce()

    @property
    def _inferred_cross_device_ops(self) -> Any:
        return None if self._given_ops else self._cross_device_ops

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if session_config:
            session_config.CopyFrom(self._update_config_proto(session_config))
        if cluster_spec:
            gpus = [name for name in self.worker_devices if "/device:GPU:" in name]
            tasks = 1 if is_local(self.worker_devices) else self._input_workers.num_workers
            self._replicate_on(devices_of_cluster(cluster_spec, len(gpus) // tasks))

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._device_map.all_devices

    def non_slot_devices(self, var_list: Sequence[Any]) -> tuple[str, ...]:
        del var_list
        return self._device_map.logical_to_actual_devices(0)

    # ---- variables

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)
        if isinstance(beside, SingleDevice):
            with device(beside.device):
                return next_creator(**kwargs)
        device_map, logical = self._device_map, 0
        if beside is not None:
            device_map, logical = beside.device_map, beside.logical_device

        def make_parts(devices: Sequence[str], **kwargs: Any) -> list[Any]:
            parts: list[Any] = []
            for number, name in enumerate(devices):
                with device(name):
                    if not parts:
                        kwargs["initial_value"] = self._first_initial_value(name, kwargs)
                    else:
                        kwargs["initial_value"] = _initial_value_of(parts[0], name)
                        # The slash lets the name be taken as it is, without the current scope.
                        kwargs["name"] = f"{parts[0].name.split(':')[0]}/replica_{number}/"
                    with tapes.stopped():
                        parts.append(next_creator(**kwargs))
            return parts

        return create_mirrored_variable(self._strategy, device_map, logical, make_parts, **kwargs)

    def _first_initial_value(self, name: str, kwargs: dict[str, Any]) -> Any:
        """Return the initial value of the first part, from the variable's arguments."""
        del name
        return kwargs["initial_value"]

    def _validate_colocate_with_variable(self, colocate_with_variable: Any) -> None:
        is_one = isinstance(colocate_with_variable, DistributedVariable)
        require_variable_of(self._strategy, colocate_with_variable, is_one)

    def read_var(self, v: Any) -> Any:
        if isinstance(v, SyncOnReadVariable):
            return v._get_cross_replica()
        assert isinstance(v, Mirrored)
        return identity(v.get())

    # ---- values

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, Mirrored) and reduce_op == ReduceOp.MEAN:
            return value
        assert not isinstance(value, Mirrored), f"{value} is in all replicas already"
        if not isinstance(value, DistributedValues):
            return cross_device.reduce_non_distributed_value(
                reduce_op, self._device_map, value, destinations
            )
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        assert isinstance(var, DistributedVariable), f"{var} was not made in the strategy's scope"

        def build(index: int, name: str) -> Any:
            return fn(
                var.values[index],
                *select_device_mirrored(name, args),
                **select_device_mirrored(name, kwargs),
            )

        return self._on_each(var.devices, build, group)

    def _update_non_slot(
        self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        assert isinstance(colocate_with, tuple)

        def build(index: int, name: str) -> Any:
            del index
            return fn(*select_device_mirrored(name, args), **select_device_mirrored(name, kwargs))

        return self._on_each(colocate_with, build, group)


def _initial_value_of(first: Any, name: str) -> Callable[[], Any]:
    """Return the initial value of a part, which is that of the first one."""

    def copied() -> Tensor:
        graph = get_default_graph()
        if graph.runs_at_once or graph.building_function:
            return identity(first.value())
        with device(name):
            return identity(first.initial_value)

    return copied


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Strategy with a replica on each of several devices, each with a copy of every variable.

    Args:
      devices: names of devices; all GPUs, or else the CPU, if None.
      cross_device_ops: a `CrossDeviceOps`, how values of devices become one.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        super().__init__(MirroredExtended(self, devices, cross_device_ops))
