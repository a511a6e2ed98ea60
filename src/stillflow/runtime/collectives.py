"""What collective operations of one run become: each member's result of all members' inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.inline import Call, Inliner

_MERGES = {b"Add": "AddV2", b"Mul": "Mul"}


def _members(call: Call) -> list[Operation]:
    """The operations of a group, which all have to be there.

    Raises:
      UnimplementedError: if some are not: those of other sessions cannot be met.
    """
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


def _reduce(inliner: Inliner, call: Call) -> Any:
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
        total = _made(inliner, call, "Div", [total, divisor], "mean")
    return _done(inliner, call, total)


def _broadcast(inliner: Inliner, call: Call) -> Any:
    (sender,) = (op for op in _members(call) if op.type == "CollectiveBcastSend")
    return _done(inliner, call, _input_of(inliner, call, sender))


def _input_of(inliner: Inliner, call: Call, member: Operation) -> Tensor:
    """What a member of the group is given, which may be made after this one."""
    (tensor,) = member._inputs
    copy = inliner.make_later("Identity", tensor, call, f"{call.name}/{member.name}")
    return copy._outputs[0]


def _made(inliner: Inliner, call: Call, card: str, inputs: Sequence[Tensor], part: str) -> Tensor:
    return inliner.add(card, list(inputs), f"{call.name}/{part}", call.op)._outputs[0]


def _done(inliner: Inliner, call: Call, result: Tensor) -> Any:
    return [result], inliner.pivot(call.name, [*call.controls, result.op], call.op)


COLLECTIVES: dict[str, Callable[[Inliner, Call], Any]] = {
    "CollectiveReduce": _reduce,
    "CollectiveBcastSend": _broadcast,
    "CollectiveBcastRecv": _broadcast,
}
