"""NCCL's collective operations between GPUs, for graphs that contain them.

There are no kernels for them here: each of them would need a rendezvous with the others while a
step runs. Their graphs can be inspected, differentiated, saved, and run where there are kernels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from stillflow.graph.api import device
from stillflow.graph.card import op
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients

_TYPES = "T: {half, float, double, int32, int64}"
_REDUCTION = 'reduction: {"min", "max", "prod", "sum"}'
_names = itertools.count()

nccl_all_reduce_op = op(
    f"NcclAllReduce(input: T) -> data: T\n{_REDUCTION}\n{_TYPES}\nnum_devices: int"
    "\nshared_name: string\nflags: stateful"
)
nccl_reduce_op = op(
    f"NcclReduce(input: num_devices*T) -> data: T\n{_REDUCTION}\n{_TYPES}\nnum_devices: int >= 1"
    "\nflags: stateful"
)
nccl_broadcast_op = op(
    f"NcclBroadcast(input: T) -> output: T\n{_TYPES}\nshape: shape\nflags: stateful"
)
for _card in (nccl_all_reduce_op, nccl_reduce_op, nccl_broadcast_op):
    _card.shape(lambda node: node.dims(0))


@nccl_all_reduce_op.gradient
def nccl_all_reduce_gradient(node: Node, grad: Tensor) -> Gradients:
    _require_sum(node)
    _check_device(grad, node.op.device)
    with device(node.op.device):
        return nccl_all_reduce_op(
            grad, reduction="sum", num_devices=node.num_devices,
            shared_name=node.shared_name + b"_grad",
        )  # fmt: skip


@nccl_reduce_op.gradient
def nccl_reduce_gradient(node: Node, grad: Tensor) -> Gradients:
    _require_sum(node)
    _check_device(grad, node.op.device)
    with device(node.op.device):
        result = nccl_broadcast_op(grad, shape=grad.shape)
    return [result] * len(node.inputs)


@nccl_broadcast_op.gradient
def nccl_broadcast_gradient(node: Node, grad: Tensor) -> Gradients:
    grads = list(grad.op.inputs)
    for each in grads:
        _check_device(each)
    with device(node.op.device):
        return nccl_reduce_op(grads, reduction="sum")


def _require_sum(node: Node) -> None:
    if node.reduction != b"sum":
        raise LookupError(f"No gradient defined for {node.op.type} except sum.")


def _check_device(tensor: Tensor, expected: str | None = None) -> None:
    if not DeviceSpecV2.from_string(tensor.device).to_string():
        raise ValueError("Device assignment required for nccl collective ops")
    if expected and expected != tensor.device:
        raise ValueError(f"Expected device {expected}, got {tensor.device}")


def _all_reduce(reduction: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    shared_name = f"c{next(_names)}"
    results = []
    for tensor in tensors:
        _check_device(tensor)
        with device(tensor.device):
            results.append(
                nccl_all_reduce_op(
                    tensor, reduction=reduction, num_devices=len(tensors), shared_name=shared_name
                )
            )
    return results


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the sum of tensors of several GPUs, on each of them; ValueError without devices."""
    return _all_reduce("sum", tensors)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the product of tensors of several GPUs, on each of them; see `all_sum`."""
    return _all_reduce("prod", tensors)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the least of tensors of several GPUs, on each of them; see `all_sum`."""
    return _all_reduce("min", tensors)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the greatest of tensors of several GPUs, on each of them; see `all_sum`."""
    return _all_reduce("max", tensors)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of several GPUs on the current device, which has one of them."""
    if not tensors:
        raise ValueError("Must pass >0 tensors to reduce operations")
    for tensor in tensors:
        _check_device(tensor)
    result: Tensor = nccl_reduce_op(list(tensors), reduction="sum")
    if all(tensor.device != result.device for tensor in tensors):
        raise ValueError("One input tensor must be assigned to current device")
    return result


def broadcast(tensor: Tensor) -> Tensor:
    """Return a tensor of one GPU, for consumers on all of them; ValueError if it is on none."""
    _check_device(tensor)
    with device(tensor.device):
        result: Tensor = nccl_broadcast_op(tensor, shape=tensor.shape)
    return result
