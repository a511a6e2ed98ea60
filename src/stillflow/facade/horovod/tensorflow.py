"""The module `horovod.tensorflow`."""

from __future__ import annotations

from stillflow.facade.horovod import elastic
from stillflow.facade.horovod.aggregation import LocalGradientAggregationHelper
from stillflow.facade.horovod.basics import (
    Adasum,
    Average,
    Sum,
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
)
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

__all__ = [
    "Adasum", "Average", "BroadcastGlobalVariablesHook", "Compression", "DistributedGradientTape",
    "DistributedOptimizer", "LocalGradientAggregationHelper", "Sum", "SyncBatchNormalization",
    "_allreduce", "_executing_eagerly", "_grouped_allreduce", "allgather", "allgather_object",
    "allreduce", "alltoall", "broadcast", "broadcast_global_variables", "broadcast_object",
    "broadcast_object_fn", "broadcast_variables", "ccl_built", "check_num_rank_power_of_2",
    "cross_rank", "cross_size", "cuda_built", "ddl_built", "elastic", "gloo_built", "gloo_enabled",
    "grouped_allreduce", "handle_average_backwards_compatibility", "init", "is_homogeneous",
    "is_initialized", "join", "local_rank", "local_rank_op", "local_size", "local_size_op",
    "mpi_built", "mpi_enabled", "mpi_threads_supported", "nccl_built", "rank", "rank_op",
    "rocm_built", "shutdown", "size", "size_op", "start_timeline", "stop_timeline",
]  # fmt: skip
