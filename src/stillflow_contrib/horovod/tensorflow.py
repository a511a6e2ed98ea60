"""The module `horovod.tensorflow`."""

from __future__ import annotations

from stillflow.graph.eager_mode import executing_eagerly as _executing_eagerly
from stillflow_contrib.horovod import basics as _basics
from stillflow_contrib.horovod import elastic
from stillflow_contrib.horovod.aggregation import LocalGradientAggregationHelper
from stillflow_contrib.horovod.basics import *
from stillflow_contrib.horovod.basics import Adasum
from stillflow_contrib.horovod.compression import Compression
from stillflow_contrib.horovod.objects import (
    allgather_object,
    broadcast_object,
    broadcast_object_fn,
)
from stillflow_contrib.horovod.operations import (
    allgather,
    alltoall,
    broadcast,
    join,
    local_rank_op,
    local_size_op,
    rank_op,
    size_op,
)
from stillflow_contrib.horovod.operations import allreduce_of as _allreduce
from stillflow_contrib.horovod.operations import grouped_allreduce_of as _grouped_allreduce
from stillflow_contrib.horovod.optimizers import DistributedGradientTape, DistributedOptimizer
from stillflow_contrib.horovod.reductions import (
    BroadcastGlobalVariablesHook,
    allreduce,
    broadcast_global_variables,
    broadcast_variables,
    check_num_rank_power_of_2,
    grouped_allreduce,
    handle_average_backwards_compatibility,
)
from stillflow_contrib.horovod.sync_batch_norm import SyncBatchNormalization

_has_eager = True  # a name of Horovod 0.19
__all__ = [
    "Adasum", "BroadcastGlobalVariablesHook", "Compression", "DistributedGradientTape",
    "DistributedOptimizer", "LocalGradientAggregationHelper", "SyncBatchNormalization",
    "_allreduce", "_executing_eagerly", "_grouped_allreduce", "allgather", "allgather_object",
    "allreduce", "alltoall", "broadcast", "broadcast_global_variables", "broadcast_object",
    "broadcast_object_fn", "broadcast_variables", "check_num_rank_power_of_2", "elastic",
    "grouped_allreduce", "handle_average_backwards_compatibility", "join", "local_rank_op",
    "local_size_op", "rank_op", "size_op",
]  # fmt: skip
__all__ += _basics.__all__
