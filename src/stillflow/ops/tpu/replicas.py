"""Exchange of values between the replicas of a computation."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, OutputDims
from stillflow.ops.tpu.shards import get_tpu_context
from stillflow.platform import tf_logging as logging

cross_replica_sum_op = op(
    """
    CrossReplicaSum(input: T, group_assignment: int32) -> output: T
    T: {bfloat16, float, int32, uint32}
""",
    elsewhere=True,
)
all_to_all_op = op(
    """
    AllToAll(input: T, group_assignment: int32) -> output: T
    T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, uint16, complex128, half, uint32, uint64, bool}
    concat_dimension: int
    split_dimension: int
    split_count: int
""",  # noqa: E501
    elsewhere=True,
)
collective_permute_op = op(
    """
    CollectivePermute(input: T, source_target_pairs: int32) -> output: T
    T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, uint16, complex128, half, uint32, uint64}
""",  # noqa: E501
    elsewhere=True,
)


@cross_replica_sum_op.shape
@collective_permute_op.shape
def same_shape(node: Node) -> OutputDims:
    return node.dims(0)


@cross_replica_sum_op.gradient
def cross_replica_sum_gradient(node: Node, grad: Tensor) -> Gradients:
    return [cross_replica_sum_op(grad, node.inputs[1]), None]


@collective_permute_op.gradient
def collective_permute_gradient(node: Node, grad: Tensor) -> Gradients:
    backwards = node.inputs[1][:, ::-1]
    return [collective_permute_op(grad, backwards), None]


# ---- AllToAll


@all_to_all_op.check
def all_to_all_check(node: Node) -> None:
    dims = node.dims(0)
    if dims is None:
        raise ValueError("input's rank is unknown.")
    if node.split_count < 1:
        raise ValueError(f"split_count {node.split_count} must at least be one.")
    for name in ("concat_dimension", "split_dimension"):
        axis = getattr(node, name)
        if not 0 <= axis < len(dims):
            raise ValueError(f"{name} {axis} is out of range of input rank {len(dims)}")


@all_to_all_op.shape
def all_to_all_shape(node: Node) -> OutputDims:
    dims = list(node.dims(0) or ())
    if dims[node.concat_dimension] is not None:
        dims[node.concat_dimension] *= node.split_count
    if dims[node.split_dimension] is not None:
        dims[node.split_dimension] //= node.split_count
    return tuple(dims)


@all_to_all_op.gradient
def all_to_all_gradient(node: Node, grad: Tensor) -> Gradients:
    back = all_to_all_op(
        grad,
        node.inputs[1],
        concat_dimension=node.split_dimension,
        split_dimension=node.concat_dimension,
        split_count=node.split_count,
    )
    return [back, None]


# ---- public functions


def _everyone() -> list[list[int]]:
    """All shards as the only group."""
    count = get_tpu_context().number_of_shards
    if count is None:
        logging.warning(
            "cross_replica_sum should be used within a tpu_shard_context, but got unset "
            "number_of_shards. Assuming 1."
        )
        count = 1
    return [list(range(count))]


@export("tpu.cross_replica_sum", "contrib.tpu.cross_replica_sum")
def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Tensor:
    """Return the sum of a tensor over the replicas of a group; only TPUs compute it.

    Args:
      x: bfloat16, float32, int32 or uint32.
      group_assignment: int32 [groups, replicas of each]; all in one group if None.
      name: of the operation.

    Returns:
      A tensor like `x`.
    """
    groups = _everyone() if group_assignment is None else group_assignment
    return cross_replica_sum_op(x, groups, name=name)


def all_to_all(
    x: Any, concat_dimension: int, split_dimension: int, split_count: int,
    group_assignment: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Exchange parts of each replica's tensor, and concatenate the received ones.

    There are as many parts as a group has replicas; `group_assignment` is int32 [groups, replicas
    of each], None for all in one group.
    """
    groups = _everyone() if group_assignment is None else group_assignment
    return all_to_all_op(
        x, groups, concat_dimension=concat_dimension, split_dimension=split_dimension,
        split_count=split_count, name=name,
    )  # fmt: skip


def collective_permute(x: Any, source_target_pairs: Any, name: str | None = None) -> Tensor:
    """Send replicas' tensors by pairs of numbers, int32 [pairs, 2]; the others receive zeros."""
    return collective_permute_op(x, source_target_pairs, name=name)
