"""Names inside of `tensorflow.python.distribute`, and where they are here."""

from __future__ import annotations

_LIB = (
    "stillflow.distribute.strategy stillflow.distribute.input_context "
    "stillflow.distribute.replica_context stillflow.distribute.context "
    "stillflow.distribute.reduce_op"
)
_INPUT = "stillflow.distribute.input"
_COMBINATIONS, _STRATEGIES = "stillflow.testing.combinations", "stillflow.testing.strategies"
_VALUES = "stillflow.distribute.values stillflow.distribute.variables "
_VALUES += "stillflow.distribute.aggregating"
_COLLECTIVE = "stillflow.distribute.collective"
_SHARED = "stillflow.distribute.parameter_server"

_ALL_REDUCE = {
    "*": "stillflow_contrib.all_reduce",
    **{
        f"_{name}": f"stillflow_contrib.all_reduce:{name}"
        for name in (
            "flatten_tensors", "padded_split", "ragged_split", "ring_permutations",
            "split_by_task", "strip_padding",
        )
    },
}  # fmt: skip

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.contrib.all_reduce.python.all_reduce": _ALL_REDUCE,
    "tensorflow.python.data.experimental.ops.distribute": {
        "_AutoShardDataset": "stillflow.data.sharing:AutoShardDataset",
        "_RebatchDataset": "stillflow.data.sharing:RebatchDataset",
    },
    "tensorflow.python.data.ops.multi_device_iterator_ops": {"*": "stillflow.data.multi_device"},
    "tensorflow.python.framework.combinations": {
        "*": _COMBINATIONS,
        "generate": f"{_COMBINATIONS}:generate_in_modes",
    },
    "tensorflow.python.framework.test_combinations": {"*": _COMBINATIONS},
    "tensorflow.python.distribute.all_reduce": _ALL_REDUCE,
    "tensorflow.python.distribute.central_storage_strategy": {
        "CentralStorageStrategy": f"{_SHARED}:CentralStorageStrategy",
        "CentralStorageStrategyV1": f"{_SHARED}:CentralStorageStrategy",
    },
    "tensorflow.python.distribute.collective_all_reduce_strategy": {
        "CollectiveAllReduceExtended": f"{_COLLECTIVE}:CollectiveAllReduceExtended",
        "CollectiveAllReduceStrategy": f"{_COLLECTIVE}:MultiWorkerMirroredStrategy",
        "CollectiveAllReduceStrategyV1": f"{_COLLECTIVE}:MultiWorkerMirroredStrategy",
    },
    "tensorflow.python.distribute.combinations": {
        "*": f"{_STRATEGIES} {_COMBINATIONS}",
        "generate": f"{_STRATEGIES}:generate_for_strategies",
    },
    "tensorflow.python.distribute.cross_device_ops": {"*": "stillflow.distribute.cross_device_ops"},
    "tensorflow.python.distribute.device_util": {
        "*": "stillflow.distribute.devices",
        "local_devices_from_num_gpus": "stillflow.distribute.devices:local_devices",
    },
    "tensorflow.python.distribute.distribute_coordinator": {
        "*": "stillflow.distribute.coordinator",
        "_TaskType": "stillflow.estimator.cluster_task:TaskType",
        "_run_std_server": "stillflow.distribute.coordinator:start_server",
        "_WorkerContext": "stillflow.distribute.coordinator:WorkerContext",
    },
    "tensorflow.python.distribute.distribute_coordinator_context": {
        "get_current_worker_context": "stillflow.distribute.worker_context:current",
    },
    "tensorflow.python.distribute.distribute_lib": {
        "*": _LIB,
        "StrategyExtendedV1": "stillflow.distribute.strategy:StrategyExtended",
        "StrategyExtendedV2": "stillflow.distribute.strategy:StrategyExtended",
        "StrategyV1": "stillflow.distribute.strategy:Strategy",
        "UpdateContext": "stillflow.distribute.context:updating",
        "get_update_device": "stillflow.distribute.context:update_device",
    },
    "tensorflow.python.distribute.distribution_strategy_context": {
        "*": "stillflow.distribute.context",
        "_get_default_replica_context": "stillflow.distribute.context:default_replica_context",
        "_get_default_strategy": "stillflow.distribute.context:default_strategy",
    },
    "tensorflow.python.distribute.input_lib": {
        "*": f"{_INPUT} stillflow.distribute.steps",
        "DistributedDatasetV1": "stillflow.distribute.input:DistributedDataset",
        "DistributedDatasetsFromFunctionV1":
            "stillflow.distribute.input:DistributedDatasetsFromFunction",
        "DistributedIteratorV1": "stillflow.distribute.input:DistributedIterator",
    },
    "tensorflow.python.distribute.input_ops": {
        "_clone_dataset": "stillflow.data.sharing:clone",
        "auto_shard_dataset": "stillflow.data.sharing:auto_shard",
    },
    "tensorflow.python.distribute.mirrored_strategy": {
        "*": "stillflow.distribute.mirrored stillflow.distribute.replica_threads",
        "MirroredStrategyV1": "stillflow.distribute.mirrored:MirroredStrategy",
        "all_local_devices": "stillflow.distribute.devices:local_devices",
    },
    "tensorflow.python.distribute.multi_worker_util": {
        "*": "stillflow.distribute.cluster_tasks",
    },
    "tensorflow.python.distribute.numpy_dataset": {"*": "stillflow.distribute.numpy_dataset"},
    "tensorflow.python.distribute.one_device_strategy": {
        "*": "stillflow.distribute.one_device",
        "OneDeviceStrategyV1": "stillflow.distribute.one_device:OneDeviceStrategy",
    },
    "tensorflow.python.distribute.parameter_server_strategy": {
        "ParameterServerStrategy": f"{_SHARED}:ParameterServerStrategy",
        "ParameterServerStrategyExtended": f"{_SHARED}:ParameterServerExtended",
        "ParameterServerStrategyV1": f"{_SHARED}:ParameterServerStrategy",
    },
    "tensorflow.python.distribute.reduce_util": {"*": "stillflow.distribute.reduce_op"},
    "tensorflow.python.distribute.strategy_combinations": {"*": _STRATEGIES},
    "tensorflow.python.distribute.summary_op_util": {
        "skip_summary": "stillflow.ops.summary.names:skip_summary",
    },
    "tensorflow.python.distribute.tpu_strategy": {
        "TPUStrategy": "stillflow_contrib.distribute.tpu:TPUStrategy",
        "TPUStrategyV1": "stillflow_contrib.distribute.tpu:TPUStrategy",
    },
    "tensorflow.python.distribute.values": {
        "*": f"{_VALUES} stillflow.distribute.device_map",
    },
}  # fmt: skip
