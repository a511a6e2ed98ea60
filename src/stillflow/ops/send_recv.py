"""_Send and _Recv: where a value leaves a task of a cluster, and where it comes in.

Programs do not make them; the runtime cuts graphs into the parts of tasks with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.graph.card import op

_ATTRS = """
    tensor_name: string;  send_device: string;  send_device_incarnation: int;  recv_device: string
    client_terminated: bool = false
    flags: stateful
"""


def task_of(device: str) -> str:
    """Return the task in the full name of a device."""
    return device.rpartition("/device:")[0]


def rendezvous_key(attrs: Mapping[str, Any], place: str = "0:0") -> str:
    """Return the key of the value that a `_Send` or `_Recv` of these attributes transfers.

    `place` is the frame of a loop, and its iteration.
    """
    parts = (
        attrs["send_device"].decode(),
        f"{attrs['send_device_incarnation'] % (1 << 64):016x}",
        attrs["recv_device"].decode(),
        attrs["tensor_name"].decode(),
        place,
    )
    return ";".join(parts)


def arrival_name(key: str) -> str:
    """Return the name that a receiver knows the value of a rendezvous key by."""
    return key.split(";", 3)[3].removesuffix(";0:0")


SEND, RECV, FEED = "_Send", "_Recv", "Placeholder"
CROSSINGS = (SEND, RECV)


def plain_kind(kind: str) -> str:
    """Return the type of an operation; that of values in the memory of the host is the same."""
    return kind.replace("_Host", "_") if kind in ("_HostSend", "_HostRecv") else kind


send_op = op(
    f"_Send(tensor: T)\nT: type{_ATTRS}", effect="network", handle="rendezvous", access="put"
)
recv_op = op(
    f"_Recv() -> tensor: tensor_type\ntensor_type: type{_ATTRS}",
    effect="network",
    differentiable=False,
    handle="rendezvous",
    access="take",
)
