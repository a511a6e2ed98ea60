"""Lowering of a run's collective operations: each member's result from all members' inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from stillflow import errors
from stillflow.graph.card import Card
from stillflow.graph.card import op as registered
from stillflow.graph.device import merge_over
from stillflow.graph.dims import shape_text
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.control_flow.identity_and_group import identity_op
from stillflow.ops.math import binary, division
from stillflow.runtime.functions.inlining import Call, Inliner

# The rows of all members of a group, one member after the other.
gathered_card = registered(
    "_GatheredRows(values: N*T) -> rows: T\nN: int >= 2\nT: type\ninstance_key: int"
    "\ndevices: list(string) >= 2"
)
_HERE = "/job:localhost/replica:0/task:0/device:CPU:0"
_MERGES = {b"Add": binary.add_v2_op, b"Mul": binary.mul_op}


def _members(call: Call) -> list[Operation]:
    """Return the operations of a group; UnimplementedError unless all of them are in this run."""
    op = call.op
    key = (op.attrs["group_key"], op.attrs["instance_key"])
    found = [
        other for other in call.scope.beside
        if other.type in COLLECTIVES
        and (other.attrs["group_key"], other.attrs["instance_key"]) == key
    ]  # fmt: skip
    size = op.attrs["group_size"]
    if len(found) != size:
        raise errors.UnimplementedError(
            op.node_def,
            op,
            f"Stillflow cannot run {op.name}: {len(found)} of the {size} operations of its group "
            "are in this run, and those of other runs cannot be met yet",
        )
    return found


def _reduce(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    merge = call.op.attrs["merge_op"]
    if merge not in _MERGES:
        raise errors.InvalidArgumentError(
            call.op.node_def,
            call.op,
            f'merge_op must be one of {{"Add", "Mul"}} but got {merge.decode()}',
        )
    members = _members(call)
    total = _input_of(inliner, call, members[0])
    for number, member in enumerate(members[1:]):
        given = [total, _input_of(inliner, call, member)]
        total = _made(inliner, call, _MERGES[merge], given, f"merge_{number}")
    if call.op.attrs["final_op"] == b"Div":
        size = np.asarray(len(members), total.dtype.as_numpy_dtype)
        divisor = inliner.constant(size, total.dtype, f"{call.name}/size", call.op, [])
        total = _made(inliner, call, division.div_op, [total, divisor], "mean")
    return _done(inliner, call, total)


@gathered_card.shape
def gathered_shape(node: Any) -> OutputDims:
    return None


@gathered_card.kernel
def gathered_kernel(node: Any) -> Kernel:
    size, key = node.N, node.instance_key
    devices = [device.decode() for device in node.devices]

    def gather(*values: Any) -> Any:
        shapes = [(len(value) * size, *value.shape[1:]) for value in values]
        for device, shape in zip(devices[1:], shapes[1:], strict=True):
            if shape != shapes[0]:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Shape mismatch in the collective instance {key}. Op at device {device} "
                    f"expected shape {shape_text(shape)} but another member in the group expected "
                    f"shape {shape_text(shapes[0])}. This is likely due to different input shapes "
                    "at different members of the collective op.",
                )
        return torch.cat(values)

    return gather


def _gather(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    members = sorted(_members(call), key=lambda op: merge_over(_HERE, op.device))
    given = [_input_of(inliner, call, member) for member in members]
    rows = inliner.add(
        gathered_card, given, f"{call.name}/rows", call.op, N=len(given),
        instance_key=call.op.attrs["instance_key"],
        devices=[merge_over(_HERE, member.device).encode() for member in members],
    )  # fmt: skip
    return _done(inliner, call, rows._outputs[0])


def _broadcast(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    (sender,) = (op for op in _members(call) if op.type == "CollectiveBcastSend")
    return _done(inliner, call, _input_of(inliner, call, sender))


def _input_of(inliner: Inliner, call: Call, member: Operation) -> Tensor:
    """Return a group member's input, which may be made after this one."""
    (tensor,) = member._inputs
    copy = inliner.make_later(identity_op, tensor, call, f"{call.name}/{member.name}")
    return copy._outputs[0]


def _made(inliner: Inliner, call: Call, card: Card, inputs: Sequence[Tensor], part: str) -> Tensor:
    return inliner.add(card, list(inputs), f"{call.name}/{part}", call.op)._outputs[0]


def _done(inliner: Inliner, call: Call, result: Tensor) -> Any:
    return [result], inliner.pivot(call.name, [*call.controls, result.op], call.op)


COLLECTIVES: dict[str, Callable[[Inliner, Call], Any]] = {
    "CollectiveGather": _gather,
    "CollectiveReduce": _reduce,
    "CollectiveBcastSend": _broadcast,
    "CollectiveBcastRecv": _broadcast,
}
