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
_COLLECTIVE = "stillflow_contrib.distribute.collective"
_SLICES, _REDUCTIONS = "stillflow.distribute.slices", "stillflow.distribute.cross_device_ops"
_SHARED = "stillflow.distribute.parameter_server"

_ALL_REDUCE = {
    "*": "stillflow_contrib.all_reduce",
    **{
        f"_{name}": f"stillflow_contrib.all_reduce:{name}"
        for name in (
            "build_ring_gather", "flatten_tensors", "padded_split", "ragged_split",
            "ring_permutations", "split_by_task", "strip_padding",
        )
    },
}  # fmt: skip

# The very modules: programs and tests replace their functions.
MODULES = {
    "tensorflow.python.distribute.cluster_resolver.tpu_cluster_resolver":
        "stillflow_contrib.distribute.tpu_cluster_resolver",
    "tensorflow.python.distribute.distribute_coordinator": "stillflow.distribute.coordinator",
    **{
        f"tensorflow.python.distribute.{name}": f"stillflow_contrib.testing.{ours}"
        for name, ours in {
            "model_collection.model_collection_base": "model_examples",
            "model_collection.simple_models": "model_examples",
            "model_combinations": "model_examples",
            "multi_worker_test_base": "worker_clusters",
            "saved_model_test_base": "saved_model_tests",
            "single_loss_example": "training_examples",
            "strategy_test_lib": "strategy_tests",
        }.items()
    },
}

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
        "CollectiveAllReduceStrategy": f"{_COLLECTIVE}:MultiWorkerMirroredStrategyV2",
        "CollectiveAllReduceStrategyV1": f"{_COLLECTIVE}:MultiWorkerMirroredStrategy",
    },
    "tensorflow.python.distribute.combinations": {
        "*": f"{_STRATEGIES} {_COMBINATIONS}",
        "generate": f"{_STRATEGIES}:generate_for_strategies",
    },
    "tensorflow.python.distribute.cross_device_ops": {
        "*": f"{_REDUCTIONS} stillflow_contrib.distribute.collective_reduction "
             "stillflow_contrib.distribute.multi_worker_all_reduce",
        "CollectiveCommunication": f"{_COLLECTIVE}:CollectiveCommunication",
        "_simple_reduce": f"{_REDUCTIONS}:simple_reduce",
    },
    "tensorflow.python.distribute.cross_device_utils": {
        "CollectiveKeys": "stillflow_contrib.distribute.collective_reduction:CollectiveKeys",
        "aggregate_tensors_or_indexed_slices": f"{_SLICES}:aggregate",
        "contains_indexed_slices": f"{_SLICES}:contains_slices",
        "copy_tensor_or_indexed_slices_to_device": f"{_SLICES}:copy_to",
        "divide_by_n_tensors_or_indexed_slices": f"{_SLICES}:divide_by",
    },
    "tensorflow.python.distribute.device_util": {
        "*": "stillflow.distribute.devices",
        "local_devices_from_num_gpus": "stillflow.distribute.devices:local_devices",
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
        "get_distributed_dataset": "stillflow.distribute.input:DistributedDataset",
        "get_distributed_datasets_from_function":
            "stillflow.distribute.input:DistributedDatasetsFromFunction",
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
    "tensorflow.python.distribute.numpy_dataset": {
        "*": "stillflow.distribute.numpy_dataset",
        "init_var_from_numpy": "stillflow.distribute.numpy_dataset:fill",
    },
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
    "tensorflow.python.distribute.shared_variable_creator": {
        "*": "stillflow_contrib.distribute.shared_variables",
        "_canonicalize_variable_name": "stillflow.distribute.replica_threads:plain_name",
    },
    "tensorflow.python.distribute.step_fn": {"*": "stillflow_contrib.distribute.step_fn"},
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
