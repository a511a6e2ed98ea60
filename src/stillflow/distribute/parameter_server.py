"""Strategies whose replicas share variables: on one device, or on parameter servers."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow import nest
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.distribute import cluster_tasks, context
from stillflow.distribute import cross_device_ops as cross_device
from stillflow.distribute import devices as device_names
from stillflow.distribute.aggregating import AggregatingVariable, create_aggregating_variable
from stillflow.distribute.cluster_resolver.base import SimpleClusterResolver
from stillflow.distribute.cluster_resolver.tf_config import TFConfigClusterResolver
from stillflow.distribute.device_map import ReplicaDeviceMap
from stillflow.distribute.input import InputWorkers
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.mirrored import ReplicasExtended
from stillflow.distribute.numpy_dataset import SingleDevice, one_host_numpy_dataset
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.strategy import Strategy, StrategyV2, require_variable_of
from stillflow.distribute.values import DistributedValues, Mirrored, PerReplica, Structure
from stillflow.graph.api import colocate_with, device
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.platform import tf_logging as logging
from stillflow.runtime.devices.devices import gpu_count
from stillflow.train.device_setter import replica_device_setter
from stillflow.variables.resource_variable import BaseResourceVariable

_LOCAL_CPU = "/device:CPU:0"


class ParameterServerExtended(ReplicasExtended):
    """Extension of strategies whose replicas share variables, for libraries.

    Args:
      container_strategy: the strategy it belongs to.
      cluster_resolver: tells the cluster and the task; without a cluster all is in this process.
      compute_devices: names of devices of replicas in this process; all GPUs, or else the CPU, if
        None.
      parameter_device: the device of variables; if None the only one of replicas, else the CPU.

    Raises:
      ValueError: if the cluster has no parameter servers, or it is not said which task this is.
    """

    experimental_between_graph = True

    def __init__(
        self, container_strategy: StrategyV2, cluster_resolver: Any = None,
        compute_devices: Sequence[str] | None = None, parameter_device: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(container_strategy)
        self._num_gpus_per_worker = 0
        if cluster_resolver and cluster_resolver.cluster_spec():
            self._initialize_multi_worker(cluster_resolver)
        else:
            self._initialize_local(compute_devices, parameter_device, cluster_resolver)
        self._cross_device_ops = cross_device.ReductionToOneDevice(_LOCAL_CPU)

    def _initialize_local(
        self, compute_devices: Any, parameter_device: str | None, cluster_resolver: Any
    ) -> None:
        self._cluster_spec: Any = None
        self._task_type: Any = None
        self._task_id: Any = None
        self._is_chief = True
        if compute_devices is None:
            gpus = gpu_count()
            if cluster_resolver:
                gpus = cluster_resolver.num_accelerators().get("GPU", 0)
            self._num_gpus_per_worker = gpus
            compute_devices = device_names.local_devices(gpus)
        if parameter_device is None:
            parameter_device = compute_devices[0] if len(compute_devices) == 1 else _LOCAL_CPU
        self._feed(device_names.canonicalize(_LOCAL_CPU), compute_devices)
        self._variable_device: Any = parameter_device
        self._parameter_devices: tuple[str, ...] = (parameter_device,)
        logging.info(
            "ParameterServerStrategy with compute_devices = %r, variable_device = %r",
            compute_devices, parameter_device,
        )  # fmt: skip

    def _initialize_multi_worker(self, resolver: Any) -> None:
        if isinstance(resolver, TFConfigClusterResolver):
            gpus = gpu_count()  # of this process; a session may list those of others
        else:
            gpus = resolver.num_accelerators().get("GPU", 0)
        self._num_gpus_per_worker = gpus
        task_type, task_id = resolver.task_type, resolver.task_id
        if not task_type or task_id is None:
            raise ValueError(
                "When `cluster_spec` is given, you must also specify `task_type` and `task_id`"
            )
        cluster_spec = cluster_tasks.normalize_cluster_spec(resolver.cluster_spec())
        worker = f"/job:{task_type}/task:{task_id}"
        here = tuple(f"{worker}/device:GPU:{index}" for index in range(gpus)) or (worker,)
        self._feed(worker, here)
        servers = len(cluster_spec.as_dict().get("ps", []))
        if not servers:
            raise ValueError("The cluster spec needs to have `ps` jobs.")
        self._variable_device = replica_device_setter(
            ps_tasks=servers, worker_device=worker, merge_devices=True, cluster=cluster_spec
        )
        self._parameter_devices = tuple(f"/job:ps/task:{index}" for index in range(servers))
        self._default_device = worker
        self._is_chief = cluster_tasks.is_chief(cluster_spec, task_type, task_id)
        self._cluster_spec = cluster_spec
        self._task_type, self._task_id = task_type, task_id
        logging.info(
            "Multi-worker ParameterServerStrategy with cluster_spec = %r, task_type = %r, "
            "task_id = %r, num_ps_replicas = %r, is_chief = %r",
            cluster_spec.as_dict(), task_type, task_id, servers, self._is_chief,
        )  # fmt: skip

    def _feed(self, host: str, compute_devices: Sequence[str]) -> None:
        """Make a host the source of input for replicas on some devices."""
        self._input_host_device = SingleDevice(host)
        self._device_map = ReplicaDeviceMap(compute_devices)
        self._input_workers = InputWorkers(self._device_map, [(host, compute_devices)])

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return self._parameter_devices

    # ---- variables

    def _allow_variable_partition(self) -> bool:
        return not executing_eagerly()

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        with self._place_of_variable(kwargs.pop("colocate_with", None)):
            if self._num_replicas_in_sync == 1:
                return next_creator(**kwargs)
            return create_aggregating_variable(self._strategy, next_creator, **kwargs)

    @contextlib.contextmanager
    def _place_of_variable(self, beside: Any) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if isinstance(beside, SingleDevice):
                stack.enter_context(device(beside.device))
            elif beside is not None:
                stack.enter_context(device(None))
                stack.enter_context(colocate_with(beside))
            else:
                stack.enter_context(colocate_with(None, ignore_existing=True))
                stack.enter_context(device(self._variable_device))
            yield

    def _validate_colocate_with_variable(self, colocate_with_variable: Any) -> None:
        is_one = hasattr(colocate_with_variable, "_distribute_strategy")
        require_variable_of(self._strategy, colocate_with_variable, is_one)

    def read_var(self, v: Any) -> Tensor:
        return identity(v)

    def value_container(self, value: Any) -> Any:
        shared = getattr(value, "_aggregating_container", None)
        if shared is None or isinstance(value, AggregatingVariable):
            return value
        return shared() or value

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        return min(var_list, key=lambda variable: variable.name)

    # ---- values

    def _require_own_worker(self, destinations: Any) -> None:
        if not self._cluster_spec or destinations is None:
            return
        for name in cross_device.devices_of(destinations):
            spec = DeviceSpecV2.from_string(name)
            if spec.job == self._task_type and spec.task != self._task_id:
                raise ValueError(
                    f"Cannot reduce to another worker: {name!r}, current worker is "
                    f"{self._input_workers.worker_devices[0]!r}"
                )

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Tensor:
        self._require_own_worker(destinations)
        if not isinstance(value, DistributedValues):
            return cross_device.reduce_non_distributed_value(
                reduce_op, self._device_map, value, destinations
            )
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _batch_reduce_to(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        for _, destinations in value_destination_pairs:
            self._require_own_worker(destinations)
        return super()._batch_reduce_to(reduce_op, value_destination_pairs)

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        target = var.get() if isinstance(var, AggregatingVariable) else var
        if isinstance(target, BaseResourceVariable):
            with colocate_with(target), context.updating(target.device):
                result = fn(target, *_single(args), **_single(kwargs))
            return result if group else nest.map_structure(self._local_results, result)
        raise ValueError(f"You can not update `var` {target!r}. It must be a Variable.")

    def _update_non_slot(
        self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Tensor | tuple[Operation]:
        with device(colocate_with.device), context.updating(colocate_with):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    # ---- input

    def _input_contexts(self) -> list[InputContext]:
        number, count = 0, 1
        if self._cluster_spec:
            task = self._task_type, self._task_id
            number = cluster_tasks.id_in_cluster(self._cluster_spec, *task)
            count = cluster_tasks.worker_count(self._cluster_spec, self._task_type)
        return [InputContext(count, number, self._num_replicas_in_sync)]

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> DatasetV1Adapter:
        return one_host_numpy_dataset(numpy_input, self._input_host_device, session)

    # ---- sessions

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if cluster_spec:
            self._initialize_multi_worker(
                SimpleClusterResolver(
                    cluster_tasks.normalize_cluster_spec(cluster_spec),
                    task_type=task_type, task_id=task_id,
                    num_accelerators={"GPU": self._num_gpus_per_worker},
                )
            )  # fmt: skip
        if session_config:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        updated = copy.deepcopy(config_proto)
        updated.isolate_session_state = not self._cluster_spec
        if not self._cluster_spec:
            return updated
        del updated.device_filters[:]  # so that workers do not wait for each other
        here = f"/job:{self._task_type}/task:{self._task_id}"
        if self._task_type in ("chief", "worker"):
            updated.device_filters.extend([here, "/job:ps"])
        elif self._task_type == "evaluator":
            updated.device_filters.append(here)
        return updated

    @property
    def experimental_should_init(self) -> bool:
        return self._is_chief

    @property
    def should_checkpoint(self) -> bool:
        return self._is_chief

    @property
    def should_save_summary(self) -> bool:
        return self._is_chief


def _single(structure: Structure) -> Structure:
    """Return a structure with the only part of mirrored values; ValueError for several parts."""

    def only(value: Any) -> Any:
        if isinstance(value, Mirrored):
            if len(value.devices) == 1:
                return value.primary
            raise ValueError(
                "You cannot update variable with a Mirrored object with multiple components "
                f"{value!r} when using ParameterServerStrategy. You must specify a single value or "
                "a Mirrored with a single value."
            )
        if isinstance(value, PerReplica):
            raise ValueError(
                f"You cannot update variable with a PerReplica object {value!r} when using "
                "ParameterServerStrategy. You must specify a single value or a Mirrored with a "
                "single value"
            )
        return value

    return nest.map_structure(only, structure)


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Variables on parameter servers, which workers change each at its own pace.

    Every worker builds a graph of its own; it is meant for `tf.estimator.train_and_evaluate`.

    Args:
      cluster_resolver: tells the cluster and the task; if None, all is in this process until
        `configure` is told of a cluster.

    Raises:
      ValueError: if the cluster has no job "ps", or it is not said which task this is.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        super().__init__(ParameterServerExtended(self, cluster_resolver))


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """Replicas on devices of this process, which share variables on one device.

    Args:
      compute_devices: names of the replicas' devices; all GPUs, or else the CPU, if None.
      parameter_device: the device of variables; if None the only one of replicas, else the CPU.
    """

    def __init__(
        self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        super().__init__(
            ParameterServerExtended(
                self, compute_devices=compute_devices, parameter_device=parameter_device
            )
        )

    @classmethod
    def _from_num_gpus(cls, num_gpus: int) -> CentralStorageStrategy:
        return cls(device_names.local_devices(num_gpus))
