"""Names inside of `tensorflow.python.distribute`, and where they are here."""

from __future__ import annotations

_LIB = (
    "stillflow.distribute.strategy stillflow.distribute.input_context "
    "stillflow.distribute.replica_context stillflow.distribute.context "
    "stillflow.distribute.reduce_op"
)
_INPUT = "stillflow.distribute.input"
_VALUES = "stillflow.distribute.values stillflow.distribute.variables"

_ALL_REDUCE = {
    "*": "stillflow.distribute.all_reduce",
    **{
        f"_{name}": f"stillflow.distribute.all_reduce:{name}"
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
    "tensorflow.python.distribute.all_reduce": _ALL_REDUCE,
    "tensorflow.python.distribute.cross_device_ops": {"*": "stillflow.distribute.cross_device_ops"},
    "tensorflow.python.distribute.device_util": {
        "*": "stillflow.distribute.devices",
        "local_devices_from_num_gpus": "stillflow.distribute.devices:local_devices",
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
    "tensorflow.python.distribute.numpy_dataset": {"*": "stillflow.distribute.numpy_dataset"},
    "tensorflow.python.distribute.one_device_strategy": {
        "*": "stillflow.distribute.one_device",
        "OneDeviceStrategyV1": "stillflow.distribute.one_device:OneDeviceStrategy",
    },
    "tensorflow.python.distribute.reduce_util": {"*": "stillflow.distribute.reduce_op"},
    "tensorflow.python.distribute.values": {
        "*": f"{_VALUES} stillflow.distribute.device_map",
    },
}  # fmt: skip
