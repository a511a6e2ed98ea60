"""`hvd.allreduce` and the broadcast of variables."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.compression import Compression
from stillflow_contrib.horovod.operations import (
    allgather,
    allreduce_of,
    broadcast,
    grouped_allreduce_of,
)  # fmt: skip


def handle_average_backwards_compatibility(op: int | None, average: bool | None) -> int:
    """Return the reduction that `op`, or the older `average`, names.

    Raises:
      ValueError: if both are given.
    """
    if op is not None:
        if average is not None:
            raise ValueError(
                "The op parameter supersedes average. Please provide only one of them."
            )
        return op
    if average is None:
        return basics.Average
    warnings.warn(
        "Parameter `average` has been replaced with `op` and will be removed in v0.21.0",
        DeprecationWarning,
        stacklevel=3,
    )
    return basics.Average if average else basics.Sum


def check_num_rank_power_of_2(num_rank: int) -> bool:
    """Return True if a number is a power of two."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def allreduce(
    tensor: Any, average: bool | None = None, device_dense: str = "", device_sparse: str = "",
    compression: Any = Compression.none, op: int | None = None, prescale_factor: float = 1.0,
    postscale_factor: float = 1.0, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the average, or another reduction, of a tensor over all ranks.

    Args:
      tensor: a tensor or variable of the same shape in all ranks; the rows of an IndexedSlices are
        gathered instead, which has the same sum.
      average: older form of `op`.
      device_dense: device of the reduction.
      device_sparse: device of the gathered rows.
      compression: member of `Compression`.
      op: `Average` by default, `Sum` or `Adasum`.
      prescale_factor: the tensors are multiplied by it before.
      postscale_factor: the result is multiplied by it.
      name: of the operation; ranks match by it.

    Raises:
      NotImplementedError: for Adasum of an IndexedSlices, or of a number of ranks that is no power
        of two.
    """
    op = handle_average_backwards_compatibility(op, average)
    if isinstance(tensor, tf.IndexedSlices):
        with tf.device(device_sparse):
            return _gathered_slices(tensor, op)
    _check_ranks(op)
    with tf.device(device_dense):
        sent, context = compression.compress(convert_to_tensor(tensor))
        total = allreduce_of(
            sent, name=name, op=op, prescale_factor=prescale_factor,
            postscale_factor=postscale_factor,
        )  # fmt: skip
        return compression.decompress(total, context)


def grouped_allreduce(
    tensors: Sequence[Any], average: bool | None = None, device_dense: str = "",
    device_sparse: str = "", compression: Any = Compression.none, op: int | None = None,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
) -> list[Any]:  # fmt: skip
    """Return `allreduce` of each of several tensors, in one operation."""
    if not tensors:
        return []
    op = handle_average_backwards_compatibility(op, average)
    if any(isinstance(each, tf.IndexedSlices) for each in tensors):
        return [
            allreduce(
                each, None, device_dense, device_sparse, compression, op, prescale_factor,
                postscale_factor,
            )
            for each in tensors
        ]  # fmt: skip
    _check_ranks(op)
    with tf.device(device_dense):
        sent = [compression.compress(convert_to_tensor(each)) for each in tensors]
        totals = grouped_allreduce_of(
            [each for each, _ in sent], op=op, prescale_factor=prescale_factor,
            postscale_factor=postscale_factor,
        )  # fmt: skip
        pairs = zip(totals, sent, strict=True)
        return [compression.decompress(total, context) for total, (_, context) in pairs]


def _check_ranks(op: int) -> None:
    if op == basics.Adasum and not check_num_rank_power_of_2(basics.size()):
        raise NotImplementedError("Running Adasum with non-power of 2 ranks is not supported yet.")


def _gathered_slices(slices: Any, op: int) -> Any:
    if op == basics.Adasum:
        raise NotImplementedError(
            "The Adasum reduction does not currently support sparse tensors. As a workaround "
            "please pass sparse_as_dense=True to DistributedOptimizer"
        )
    values, indices = allgather(slices.values), allgather(slices.indices)
    if op == basics.Average:
        values = values / tf.cast(basics.size(), values.dtype)
    return tf.IndexedSlices(values, indices, dense_shape=slices.dense_shape)


def in_one_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that eager execution runs as one graph, so that operations overlap."""
    as_graph: list[Any] = []

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not executing_eagerly():
            return function(*args, **kwargs)
        if not as_graph:
            as_graph.append(tf.function(function, autograph=False))
        return as_graph[0](*args, **kwargs)

    return run


def broadcast_variables(variables: Any, root_rank: int) -> Any:
    """Give variables the values that rank `root_rank` has.

    Returns:
      In a graph the operation that does it.
    """
    if executing_eagerly():
        for variable in variables:
            variable.assign(broadcast(variable, root_rank))
        return None
    return tf.group(*[each.assign(broadcast(each, root_rank)) for each in variables])


def broadcast_global_variables(root_rank: int) -> Any:
    """Return the operation that gives all global variables the values of rank `root_rank`.

    Raises:
      RuntimeError: in eager execution, which has no collections of variables.
    """
    if executing_eagerly():
        raise RuntimeError(
            "hvd.broadcast_global_variables() does not support eager execution. "
            "Please use `hvd.broadcast_variables(<model/optimizer variables>)` instead."
        )
    return broadcast_variables(tf.global_variables(), root_rank)


class BroadcastGlobalVariablesHook(tf.train.SessionRunHook):
    """Hook that gives all global variables rank `root_rank`'s values in each new session.

    Args:
      root_rank: the rank whose values count.
      device: of the broadcasts.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self.root_rank, self.device = root_rank, device
        self.bcast_op: Any = None

    def begin(self) -> None:
        if self.bcast_op is None or self.bcast_op.graph is not tf.get_default_graph():
            with tf.device(self.device):
                self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self.bcast_op)
