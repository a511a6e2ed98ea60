"""The module `horovod.tensorflow`."""

from __future__ import annotations

from stillflow.facade.horovod import basics as _basics
from stillflow.facade.horovod import elastic
from stillflow.facade.horovod.aggregation import LocalGradientAggregationHelper
from stillflow.facade.horovod.basics import *
from stillflow.facade.horovod.basics import Adasum
from stillflow.facade.horovod.compression import Compression
from stillflow.facade.horovod.objects import (
    allgather_object,
    broadcast_object,
    broadcast_object_fn,
)
from stillflow.facade.horovod.operations import (
    allgather,
    alltoall,
    broadcast,
    join,
    local_rank_op,
    local_size_op,
    rank_op,
    size_op,
)
from stillflow.facade.horovod.operations import allreduce_of as _allreduce
from stillflow.facade.horovod.operations import grouped_allreduce_of as _grouped_allreduce
from stillflow.facade.horovod.optimizers import DistributedGradientTape, DistributedOptimizer
from stillflow.facade.horovod.reductions import (
    BroadcastGlobalVariablesHook,
    allreduce,
    broadcast_global_variables,
    broadcast_variables,
    check_num_rank_power_of_2,
    grouped_allreduce,
    handle_average_backwards_compatibility,
)
from stillflow.facade.horovod.sync_batch_norm import SyncBatchNormalization
from stillflow.graph.eager_mode import executing_eagerly as _executing_eagerly

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
