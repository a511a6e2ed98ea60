"""Horovod's operations: cards, kernels and gradients, and the functions that wrap one each.

Ranks match operations by the name of the node.
"""

from __future__ import annotations

import re
from typing import Any

import stillflow as tf
from stillflow.graph.card import Card, register_library
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.runtime.processes.kernels import Collective
from stillflow_contrib.horovod import basics

_NUMBERS = "T: {int32, int64, half, float, double}"
_PLAIN = "T: {uint8, int8, uint16, int16, int32, int64, half, float, double, bool}"
_REDUCTION = (
    "reduce_op: int\nprescale_factor: float\npostscale_factor: float\n"
    "ignore_name_scope: bool = false"
)

allreduce_op = Card(
    f"HorovodAllreduce(tensor: T) -> sum: T\n{_NUMBERS}\n{_REDUCTION}", effect="network"
)
grouped_allreduce_op = Card(
    f"HorovodGroupedAllreduce(tensors: num_tensors*T) -> sum: num_tensors*T\n{_NUMBERS}\n"
    f"{_REDUCTION}\nnum_tensors: int",
    effect="network",
)
allgather_op = Card(
    f"HorovodAllgather(tensor: T) -> output: T\n{_PLAIN}\nignore_name_scope: bool = false",
    effect="network",
)
broadcast_op = Card(
    f"HorovodBroadcast(tensor: T) -> output: T\n{_PLAIN}\nroot_rank: int\n"
    "ignore_name_scope: bool = false",
    effect="network",
)
alltoall_op = Card(
    f"HorovodAlltoall(tensor: T, splits: int32) -> output: T\n{_PLAIN}\n"
    "ignore_name_scope: bool = false",
    effect="network",
)
join_op = Card("HorovodJoin() -> output: int32\nflags: stateful", effect="network")
_FACTS = {"size": "Size", "local_size": "LocalSize", "rank": "Rank", "local_rank": "LocalRank"}
_fact_ops = {
    fact: Card(
        f"Horovod{name}() -> {fact}: int32\nflags: stateful", effect="state", differentiable=False
    )
    for fact, name in _FACTS.items()
}
register_library(
    [
        allreduce_op, grouped_allreduce_op, allgather_op, broadcast_op, alltoall_op, join_op,
        *_fact_ops.values(),
    ]
)  # fmt: skip

allreduce_op.shape(lambda node: node.dims(0))
grouped_allreduce_op.shape(lambda node: [node.dims(n) for n in range(len(node.inputs))])
broadcast_op.shape(lambda node: node.dims(0))
join_op.shape(lambda node: ())
for _card in _fact_ops.values():
    _card.shape(lambda node: ())


@allgather_op.shape
@alltoall_op.shape
def rows_shape(node: Node) -> Any:
    dims = node.dims(0)
    return (None, *dims[1:]) if dims else None


# ---- kernels


def _name(node: Node) -> str:
    if node.is_eager:  # one at a time, so ranks match them by their order
        return node.op.type
    return node.name.rpartition("/")[2] if node.ignore_name_scope else node.name


def _kernel(kind: str, detail: Any = lambda node: []) -> Any:
    def kernel(node: Node) -> Any:
        function = Collective(node, basics.group_of_kernels, kind, detail(node), _name(node))
        return node.call(function, *node.inputs)

    return kernel


def _factors(node: Node) -> list[Any]:
    return [node.reduce_op, node.prescale_factor, node.postscale_factor]


allreduce_op.kernel(_kernel("allreduce", _factors))
allgather_op.kernel(_kernel("allgather"))
alltoall_op.kernel(_kernel("alltoall"))
broadcast_op.kernel(_kernel("broadcast", lambda node: [node.root_rank]))


@grouped_allreduce_op.kernel
def grouped_allreduce_kernel(node: Node) -> Any:
    count, name = len(node.inputs), _name(node)
    parts = [
        Collective(
            node, basics.group_of_kernels, "allreduce", _factors(node), f"{name}_{number}of{count}"
        )
        for number in range(1, count + 1)
    ]

    def reduce(*tensors: Any) -> Any:
        begun = [part.begin(tensor) for part, tensor in zip(parts, tensors, strict=True)]
        results = [each.result() for each in begun]
        return results if len(results) > 1 else results[0]

    return reduce


@join_op.kernel
def join_kernel(node: Node) -> Any:
    import torch

    return lambda: torch.tensor(basics.group_of_kernels().join(), dtype=torch.int32)


def _fact_kernel(fact: str) -> Any:
    def kernel(node: Node) -> Any:
        import torch

        def value() -> Any:
            world = basics.group_of_kernels().world
            return torch.tensor(getattr(world, fact), dtype=torch.int32)

        return value

    return kernel


for _fact, _card in _fact_ops.items():
    _card.kernel(_fact_kernel(_fact))


# ---- gradients


def _reduced(grad: Tensor, node: Node, **factors: Any) -> Tensor:
    return allreduce_of(grad, ignore_name_scope=node.ignore_name_scope, **factors)


def _same_factors(node: Node) -> dict[str, Any]:
    return {
        "op": node.reduce_op, "prescale_factor": node.prescale_factor,
        "postscale_factor": node.postscale_factor,
    }  # fmt: skip


@allreduce_op.gradient
def allreduce_gradient(node: Node, grad: Tensor) -> Any:
    return _reduced(grad, node, **_same_factors(node))


@grouped_allreduce_op.gradient
def grouped_allreduce_gradient(node: Node, *grads: Tensor) -> Any:
    return grouped_allreduce_of(
        list(grads), ignore_name_scope=node.ignore_name_scope, **_same_factors(node)
    )


@allgather_op.gradient
def allgather_gradient(node: Node, grad: Tensor) -> Any:
    total = _reduced(grad, node)
    with tf.device("/cpu:0"):  # sizes of parts are numbers of the host
        own = tf.reshape(tf.shape(node.inputs[0])[0], [1])
        rows = allgather(own, ignore_name_scope=node.ignore_name_scope)
        rows = tf.reshape(rows, [basics.size()])
    return tf.split(total, num_or_size_splits=rows, axis=0)[basics.rank()]


@broadcast_op.gradient
def broadcast_gradient(node: Node, grad: Tensor) -> Any:
    total = _reduced(grad, node)
    return total if basics.rank() == node.root_rank else total * 0


@alltoall_op.gradient
def alltoall_gradient(node: Node, grad: Tensor) -> Any:
    tensor, splits = node.inputs
    count, scope = basics.size(), node.ignore_name_scope
    sent = tf.cond(
        tf.equal(tf.size(splits), 0),
        lambda: tf.ones([count], tf.int32) * (tf.shape(tensor)[0] // count),
        lambda: splits,
    )
    received = alltoall(sent, splits=[1] * count, ignore_name_scope=scope)
    return [alltoall(grad, splits=received, ignore_name_scope=scope), None]


# ---- functions


def named(kind: str, *tensors: Any) -> str | None:
    """Return the name of an operation on tensors of a graph; None in eager execution."""
    if executing_eagerly():
        return None
    names = "_".join(re.sub("[^a-zA-Z0-9_]", "_", tensor.name) for tensor in tensors)
    return f"Horovod{kind}_{names}"


def allreduce_of(
    tensor: Any, name: str | None = None, op: int = basics.Sum, prescale_factor: float = 1.0,
    postscale_factor: float = 1.0, ignore_name_scope: bool = False,
) -> Any:  # fmt: skip
    """Return the reduction of all ranks' tensors, which have one shape and type."""
    return allreduce_op(
        tensor, name=name or named("Allreduce", tensor), reduce_op=op,
        prescale_factor=prescale_factor, postscale_factor=postscale_factor,
        ignore_name_scope=ignore_name_scope,
    )  # fmt: skip


def grouped_allreduce_of(
    tensors: Any, name: str | None = None, op: int = basics.Sum, prescale_factor: float = 1.0,
    postscale_factor: float = 1.0, ignore_name_scope: bool = False,
) -> Any:  # fmt: skip
    """Return the reductions of a list of tensors, all in one operation."""
    name = name or named("GroupedAllreduce", tensors[0], tensors[-1])
    return grouped_allreduce_op(
        tensors, name=name, reduce_op=op, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, ignore_name_scope=ignore_name_scope,
    )  # fmt: skip


def allgather(tensor: Any, name: str | None = None, ignore_name_scope: bool = False) -> Any:
    """Return the rows of all ranks' tensors, one rank after the other.

    The tensors may have different numbers of rows: `[rows, ...]`.
    """
    return allgather_op(
        tensor, name=name or named("Allgather", tensor), ignore_name_scope=ignore_name_scope
    )


def broadcast(
    tensor: Any, root_rank: int, name: str | None = None, ignore_name_scope: bool = False
) -> Any:
    """Return the tensor of rank `root_rank`; the others give one of its shape and type."""
    return broadcast_op(
        tensor, name=name or named("Broadcast", tensor), root_rank=root_rank,
        ignore_name_scope=ignore_name_scope,
    )  # fmt: skip


def alltoall(
    tensor: Any, splits: Any = None, name: str | None = None, ignore_name_scope: bool = False
) -> Any:
    """Return the rows that all ranks send to this one.

    Args:
      tensor: `[rows, ...]`.
      splits: how many of its rows each rank gets; equal parts by default.
      name: of the operation.
      ignore_name_scope: whether ranks match it by its name without the scopes around it.
    """
    rows = convert_to_tensor([] if splits is None else splits, dtype=tf.int32)
    return alltoall_op(
        tensor, rows, name=name or named("Alltoall", tensor), ignore_name_scope=ignore_name_scope
    )


def join() -> Any:
    """Add zeros to the other ranks' reductions until all have joined; the last one's rank."""
    return join_op()


def size_op(name: str | None = None) -> Any:
    """Return the number of processes, as a tensor that is computed when it runs."""
    return _fact_ops["size"](name=name)


def local_size_op(name: str | None = None) -> Any:
    """Return the number of processes of this machine, as a tensor."""
    return _fact_ops["local_size"](name=name)


def rank_op(name: str | None = None) -> Any:
    """Return the rank, as a tensor."""
    return _fact_ops["rank"](name=name)


def local_rank_op(name: str | None = None) -> Any:
    """Return the rank on this machine, as a tensor."""
    return _fact_ops["local_rank"](name=name)
