"""Lowering of a run's collective operations: each member's result from all members' inputs.

Where members are in other processes, those of this one are combined first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.card import Card
from stillflow.graph.card import op as registered
from stillflow.graph.device import merge_over
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.collective import gathered_rows_op
from stillflow.ops.control_flow.identity_and_group import identity_op
from stillflow.ops.kernels import zeros
from stillflow.ops.math import binary, division
from stillflow.runtime.functions.inlining import Call, Inliner
from stillflow.runtime.processes import kernels
from stillflow.runtime.processes.transfers import PRODUCT, SUM

# Operations of a group whose other members are in other processes.
across_card = registered(
    "_AcrossProcesses(input: T) -> data: T\nT: type\nkind: string\ndetail: list(int)\nkey: string",
    effect="network",
)
received_card = registered(
    "_FromAnotherProcess() -> data: T\nT: type\nshape: shape\nkey: string", effect="network"
)
_ANY_ROOT = -1  # of a rank that receives: the one that sends tells
_HERE = "/job:localhost/replica:0/task:0/device:CPU:0"
_MERGES = {b"Add": binary.add_v2_op, b"Mul": binary.mul_op}
_REDUCTIONS = {b"Add": SUM, b"Mul": PRODUCT}


def _members(call: Call) -> list[Operation]:
    """Return the operations of a group that are in this run; the other processes run the rest.

    Raises:
      UnimplementedError: if there are too few processes for the others.
    """
    op = call.op
    key = (op.attrs["group_key"], op.attrs["instance_key"])
    found = [
        other for other in call.scope.beside
        if other.type in COLLECTIVES
        and (other.attrs["group_key"], other.attrs["instance_key"]) == key
    ]  # fmt: skip
    size, processes = op.attrs["group_size"], 1
    if len(found) < size:
        processes = kernels.cluster().size
    if len(found) * processes != size:
        raise errors.unimplemented(
            f"Stillflow cannot run {op.name}: {len(found)} of the {size} operations of its group "
            "are in this run, and those of other runs cannot be met yet",
            op,
        )
    return found


def _reduce(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    merge = call.op.attrs["merge_op"]
    if merge not in _MERGES:
        text = f'merge_op must be one of {{"Add", "Mul"}} but got {merge.decode()}'
        raise errors.invalid_argument(text, call.op)
    members = _members(call)
    total = _input_of(inliner, call, members[0])
    for number, member in enumerate(members[1:]):
        given = [total, _input_of(inliner, call, member)]
        total = _made(inliner, call, _MERGES[merge], given, f"merge_{number}")
    total = _across(inliner, call, members, total, "allreduce", [_REDUCTIONS[merge]])
    if call.op.attrs["final_op"] == b"Div":
        size = np.asarray(call.op.attrs["group_size"], total.dtype.as_numpy_dtype)
        divisor = inliner.constant(size, total.dtype, f"{call.name}/size", call.op, [])
        total = _made(inliner, call, division.div_op, [total, divisor], "mean")
    return _done(inliner, call, total)


def _key(call: Call, members: Sequence[Operation]) -> bytes:
    """Return the name by which processes match a member: by its place among those of each."""
    attrs, place = call.op.attrs, members.index(call.op)
    return f"collective {attrs['group_key']} {attrs['instance_key']} {place}".encode()


def _across(
    inliner: Inliner, call: Call, members: Sequence[Operation], own: Tensor, kind: str,
    detail: Sequence[int] = (),
) -> Tensor:  # fmt: skip
    """Return the result of all processes; this one's own where it has the whole group."""
    if len(members) == call.op.attrs["group_size"]:
        return own
    if kind == "broadcast":
        detail = [kernels.cluster().rank]
    op = inliner.add(
        across_card, [own], f"{call.name}/processes", call.op, kind=kind.encode(),
        detail=list(detail), key=_key(call, members),
    )  # fmt: skip
    return op._outputs[0]


@across_card.shape
def across_shape(node: Any) -> Any:
    dims = node.dims(0)
    return (None, *dims[1:]) if dims and node.kind == b"allgather" else dims


@across_card.kernel
def across_kernel(node: Any) -> Any:
    kind, detail = node.kind.decode(), list(node.detail)
    if kind == "allreduce":
        detail = [*detail, 1.0, 1.0]
    name = node.key.decode()
    function = kernels.Collective(node, kernels.of_cluster(), kind, detail, name)
    return node.call(function, node.inputs[0])


received_card.shape(lambda node: node.op.attrs["shape"]._dims)


@received_card.kernel
def received_kernel(node: Any) -> Any:
    dtype, dims = node.T, node.out_dims()
    function = kernels.Collective(
        node, kernels.of_cluster(), "broadcast", [_ANY_ROOT], node.key.decode(), dtype.name
    )
    return node.call(function, zeros(dims, dtype))


def _gather(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    members = _members(call)
    by_device = sorted(members, key=lambda op: merge_over(_HERE, op.device))
    rows, *others = given = [_input_of(inliner, call, member) for member in by_device]
    if others:
        rows = inliner.add(
            gathered_rows_op, given, f"{call.name}/rows", call.op, N=len(given),
            instance_key=call.op.attrs["instance_key"],
            devices=[merge_over(_HERE, member.device).encode() for member in by_device],
        )._outputs[0]  # fmt: skip
    return _done(inliner, call, _across(inliner, call, members, rows, "allgather"))


def _broadcast(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    members = _members(call)
    senders = [op for op in members if op.type == "CollectiveBcastSend"]
    if senders:
        sent = _input_of(inliner, call, senders[0])
        return _done(inliner, call, _across(inliner, call, members, sent, "broadcast"))
    attrs = {**call.op.attrs, "key": _key(call, members)}
    op = inliner.make(
        received_card, [], attrs, [call.op._outputs[0].dtype], f"{call.name}/processes",
        call.controls, call.op,
    )  # fmt: skip
    op._outputs[0]._dims = call.op.attrs["shape"]._dims
    return _done(inliner, call, op._outputs[0])


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
