"""Collective operations: each of a group is on another device, and all of them work together.

They have no kernels: a run computes a group's results from the inputs of all its members (see
`runtime/functions/collectives.py`), so the group has to be in that run as a whole. `_GatheredRows`
is an operation of such a run alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.device import canonical
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import OutputDims

_GROUP = """T: {float, half, double, int32, int64}
    group_size: int
    group_key: int
    instance_key: int"""
_BROADCAST = f'{_GROUP}\nshape: shape\ncommunication_hint: string = "auto"\nflags: stateful'

collective_reduce_op = op(
    f"""
    CollectiveReduce(input: T) -> data: T
    {_GROUP}
    merge_op: {{"Min", "Max", "Mul", "Add"}}
    final_op: {{"Id", "Div"}}
    subdiv_offsets: list(int)
    wait_for: list(int) = []
    communication_hint: string = "auto"
    flags: stateful
""",
    effect="network",
    inlined=True,
)
collective_gather_op = op(
    f"CollectiveGather(input: T) -> data: T\n{_BROADCAST}", effect="network", inlined=True
)
collective_bcast_send_op = op(
    f"CollectiveBcastSend(input: T) -> data: T\n{_BROADCAST}", effect="network", inlined=True
)
collective_bcast_recv_op = op(
    f"CollectiveBcastRecv() -> data: T\n{_BROADCAST}", effect="network", inlined=True
)
# The rows of all members of a group, one member after the other.
gathered_rows_op = op(
    "_GatheredRows(values: N*T) -> rows: T\nN: int >= 2\nT: type\ninstance_key: int"
    "\ndevices: list(string) >= 2"
)

collective_reduce_op.shape(lambda node: node.dims(0))


@collective_gather_op.shape
def collective_gather_shape(node: Node) -> OutputDims:
    dims = dims_lib.with_rank_at_least(node.dims(0), 1)
    if dims is None:
        return None
    return dims_lib.multiply(dims[0], node.group_size), *dims[1:]


for _card in (collective_bcast_send_op, collective_bcast_recv_op):
    _card.shape(lambda node: node.op.attrs["shape"]._dims)


gathered_rows_op.shape(lambda node: None)


@gathered_rows_op.kernel
def gathered_rows_kernel(node: Node) -> Any:
    size, key = node.N, node.instance_key
    devices = [device.decode() for device in node.devices]

    def gather(*values: Any) -> Any:
        shapes = [(len(value) * size, *value.shape[1:]) for value in values]
        for device, shape in zip(devices[1:], shapes[1:], strict=True):
            if shape != shapes[0]:
                raise errors.invalid_argument(
                    f"Shape mismatch in the collective instance {key}. Op at device {device} "
                    f"expected shape {dims_lib.shape_text(shape)} but another member in the group "
                    f"expected shape {dims_lib.shape_text(shapes[0])}. This is likely due to "
                    "different input shapes at different members of the collective op."
                )
        return torch.cat(values)

    return gather


def _check(tensor: Any, group_size: int, name: str) -> None:
    """Raise ValueError for a tensor on no device, or a group of one."""
    if tensor is not None and not canonical(tensor.device):
        raise ValueError("Device assignment required for collective ops")
    if group_size <= 1:
        raise ValueError(f"Parameter group_size to {name} must be at least 2.")


def all_reduce(
    t: Tensor, group_size: int, group_key: int, instance_key: int, merge_op: str, final_op: str,
    subdiv_offsets: Sequence[int] = (0,), communication_hint: str = "auto",
) -> Tensor:  # fmt: skip
    """Reduce the tensors of a group of `group_size` devices, on each of them.

    `group_key` tells groups apart, `instance_key` one time from others. `merge_op` is "Add" or
    "Mul", `final_op` "Id", or "Div" by the size; the last two arguments tell TensorFlow how to do
    it. ValueError if the tensor is on no device, or alone.
    """
    _check(t, group_size, "all_reduce")
    return collective_reduce_op(
        t, group_size=group_size, group_key=group_key, instance_key=instance_key,
        merge_op=merge_op, final_op=final_op, subdiv_offsets=subdiv_offsets,
        communication_hint=communication_hint,
    )  # fmt: skip


def all_gather(
    t: Tensor, group_size: int, group_key: int, instance_key: int, communication_hint: str = "auto"
) -> Tensor:
    """Concatenate the rows of a group's tensors in the order of their devices; see `all_reduce`.

    They are of one shape. ValueError if one is on no device, alone, or a scalar.
    """
    _check(t, group_size, "all_gather")
    return collective_gather_op(
        t, shape=[0], group_size=group_size, group_key=group_key, instance_key=instance_key,
        communication_hint=communication_hint,
    )  # fmt: skip


def broadcast_send(
    t: Tensor, shape: Any, dtype: Any, group_size: int, group_key: int, instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:  # fmt: skip
    """Send a tensor to the other members of a group; see `all_reduce`."""
    _check(t, group_size, "broadcast_send")
    declared = (  # misspelled by TensorFlow
        ("Shape", t.shape, shape, "delcared shape"),
        ("Type", t.dtype, dtype, "declared type"),
    )
    for what, own, other, text in declared:
        if own != other:
            raise ValueError(f"{what} of broadcast_send tensor not equal to {text}")
    return collective_bcast_send_op(
        t, shape=shape, group_size=group_size, group_key=group_key, instance_key=instance_key,
        communication_hint=communication_hint,
    )  # fmt: skip


def broadcast_recv(
    shape: Any, dtype: Any, group_size: int, group_key: int, instance_key: int,
    communication_hint: str = "auto",
) -> Tensor:  # fmt: skip
    """Return the tensor of a group's `broadcast_send`; ValueError if there is nobody else."""
    _check(None, group_size, "broadcast_send")
    return collective_bcast_recv_op(
        shape=shape, T=dtype, group_size=group_size, group_key=group_key,
        instance_key=instance_key, communication_hint=communication_hint,
    )  # fmt: skip
