"""`MultiWorkerMirroredStrategy`: copies of variables at each worker, which reduce together."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.distribute import cluster_tasks, coordinator, worker_context
from stillflow.distribute import cross_device_ops as cross_device
from stillflow.distribute import devices as device_names
from stillflow.distribute.cluster_resolver.base import SimpleClusterResolver
from stillflow.distribute.cluster_resolver.tf_config import TFConfigClusterResolver
from stillflow.distribute.device_map import ReplicaDeviceMap
from stillflow.distribute.input import DistributedDataset, InputWorkers
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.mirrored import MirroredExtended
from stillflow.distribute.numpy_dataset import SingleDevice, one_host_numpy_dataset
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.strategy import Strategy, StrategyExtended, StrategyV2
from stillflow.distribute.values import DistributedValues, Mirrored
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.ops.collective import broadcast_recv, broadcast_send
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.platform import tf_logging as logging
from stillflow.protos import RewriterConfig
from stillflow.runtime.devices.devices import gpu_count
from stillflow_contrib.distribute.collective_reduction import CollectiveAllReduce, CollectiveKeys


@export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication(enum.Enum):
    """Method of summing workers' values: chosen by the runtime, in a ring, or by NCCL."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CollectiveAllReduceExtended(MirroredExtended):
    """Extension of `MultiWorkerMirroredStrategy` for libraries.

    Args:
      container_strategy: the strategy it belongs to.
      communication: a `CollectiveCommunication`.
      cluster_resolver: tells the cluster and the task.

    Raises:
      ValueError: if it is not said which task of the cluster this is.
    """

    experimental_between_graph = True
    saves_together = True

    def __init__(
        self, container_strategy: StrategyV2, communication: Any, cluster_resolver: Any
    ) -> None:
        StrategyExtended.__init__(self, container_strategy)
        assert isinstance(communication, CollectiveCommunication)
        self._communication = communication
        self._initialize(cluster_resolver)

    def _initialize(self, resolver: Any, devices: Sequence[str] = ()) -> None:
        counts_here = isinstance(resolver, TFConfigClusterResolver)
        gpus = gpu_count() if counts_here else resolver.num_accelerators().get("GPU", 0)
        self._num_gpus_per_worker, self._rpc_layer = gpus, resolver.rpc_layer
        cluster_spec, self._num_workers = resolver.cluster_spec(), 1
        if cluster_spec.as_dict() and not devices:
            worker, host = self._join(cluster_spec, resolver.task_type, resolver.task_id), ""
            self._default_device: str | None = worker
        else:
            worker, host = "", device_names.canonicalize("/device:CPU:0")
            self._cluster_spec: Any = None
            self._task_type: Any = None
            self._task_id: Any = None
            self._is_chief = True
        names = devices or [f"{worker}/device:GPU:{index}" for index in range(gpus)]
        self._use(names or [worker or "/device:CPU:0"], worker or host)
        if self._communication == CollectiveCommunication.NCCL and not gpus:
            logging.warning("Enabled NCCL communication but no GPUs detected/specified.")

    def _join(self, cluster_spec: Any, task_type: Any, task_id: Any) -> str:
        """Record the cluster; return the worker's device."""
        spec = cluster_tasks.normalize_cluster_spec(cluster_spec)
        if task_type is None or task_id is None:
            raise ValueError(
                "When `cluster_spec` is given, you must also specify `task_type` and `task_id`."
            )
        self._num_workers = cluster_tasks.worker_count(spec, task_type)
        self._cluster_spec, self._task_type, self._task_id = spec, task_type, task_id
        self._is_chief = cluster_tasks.is_chief(spec, task_type, task_id)
        return f"/job:{task_type}/task:{task_id}"

    def _use(self, names: Sequence[str], host: str) -> None:
        self._host = SingleDevice(host)
        self._device_map = ReplicaDeviceMap([device_names.resolve(name) for name in names])
        self._collective_keys = CollectiveKeys()
        self._cross_device_ops = CollectiveAllReduce(
            self._num_workers, self._num_gpus_per_worker, collective_keys=self._collective_keys
        )
        pairs = [(host, self._device_map.all_devices)]
        self._input_workers = InputWorkers(self._device_map, pairs)

    def run_as_own_task(self, function: Callable[[Any], Any]) -> Any:
        if worker_context.current() or not self._cluster_spec:
            return function(self._strategy)
        return coordinator.run_distribute_coordinator(
            function, self._strategy, mode=coordinator.CoordinatorMode.INDEPENDENT_WORKER
        )

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices) * self._num_workers

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        if isinstance(value, Mirrored) and reduce_op == ReduceOp.MEAN:
            return value
        assert not isinstance(value, Mirrored), f"{value} is in all replicas already"
        if isinstance(value, DistributedValues) and len(self.worker_devices) == 1:
            value = value.primary
        if self._num_workers == 1 and not isinstance(value, DistributedValues):
            return cross_device.reduce_non_distributed_value(
                reduce_op, self._device_map, value, destinations
            )
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    def _first_initial_value(self, name: str, kwargs: dict[str, Any]) -> Callable[..., Any]:
        """Return the chief's value, which it sends to the others: a tensor on the part's device."""
        given = kwargs["initial_value"]

        def value() -> Any:
            keys, count = self._collective_keys, self._num_workers
            group, number = keys.get_group_key([name]), keys.get_variable_instance_key()
            with device(name):
                initial = given() if callable(given) else given
                initial = convert_to_tensor(initial, dtype=kwargs.get("dtype"))
                shape, dtype = initial.shape, initial.dtype
                if count == 1:
                    return initial
                if not self._is_chief:
                    return broadcast_recv(shape, dtype, count, group, number)
                sent = broadcast_send(initial, shape, dtype, count, group, number)
                with control_dependencies([sent]):
                    return identity(initial)

        return value

    # ---- input

    def _experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        (context,) = self._input_contexts()
        return DistributedDataset(
            dataset, self._input_workers, self._strategy, self._shares(), context
        )

    def _input_contexts(self) -> list[InputContext]:
        number = 0
        if self._cluster_spec:
            task = self._task_type, self._task_id
            number = cluster_tasks.id_in_cluster(self._cluster_spec, *task)
        return [InputContext(self._num_workers, number, self._num_replicas_in_sync)]

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> DatasetV1Adapter:
        return one_host_numpy_dataset(numpy_input, self._host, session)

    # ---- sessions

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: Any, task_id: Any
    ) -> None:
        if cluster_spec:
            self._initialize(
                SimpleClusterResolver(
                    cluster_tasks.normalize_cluster_spec(cluster_spec), task_type=task_type,
                    task_id=task_id, num_accelerators={"GPU": self._num_gpus_per_worker},
                    rpc_layer=self._rpc_layer,
                )
            )  # fmt: skip
        if session_config:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        updated = copy.deepcopy(config_proto)
        rewriting = updated.graph_options.rewrite_options
        rewriting.scoped_allocator_optimization = RewriterConfig.ON
        rewriting.scoped_allocator_opts.enable_op[:] = ["CollectiveReduce"]
        if self._communication == CollectiveCommunication.NCCL:
            updated.experimental.collective_nccl = True
        if self._cluster_spec:
            task = self._task_type, self._task_id
            leader = cluster_tasks.collective_leader(self._cluster_spec, *task)
            updated.experimental.collective_group_leader = leader
            updated.device_filters[:] = ["/job:{}/task:{}".format(*task)]
        return updated

    @property
    def should_checkpoint(self) -> bool:
        return self._is_chief

    @property
    def should_save_summary(self) -> bool:
        return self._is_chief


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(Strategy):
    """Copies of variables at each of several workers, which make their steps together.

    TF_CONFIG, or `configure`, tells the cluster; each worker is a process.

    Args:
      communication: a `CollectiveCommunication`.
    """

    def __init__(
        self, communication: CollectiveCommunication = CollectiveCommunication.AUTO
    ) -> None:
        super().__init__(
            CollectiveAllReduceExtended(self, communication, TFConfigClusterResolver())
        )


@export("compat.v2.distribute.experimental.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategyV2(StrategyV2):
    __doc__ = MultiWorkerMirroredStrategy.__doc__

    def __init__(
        self, communication: CollectiveCommunication = CollectiveCommunication.AUTO
    ) -> None:
        super().__init__(
            CollectiveAllReduceExtended(self, communication, TFConfigClusterResolver())
        )

    @classmethod
    def _from_local_devices(cls, devices: Sequence[str]) -> MultiWorkerMirroredStrategyV2:
        """Return a strategy of one worker, with replicas on some devices."""
        strategy = cls()
        strategy.extended._initialize(TFConfigClusterResolver(), devices)
        return strategy
