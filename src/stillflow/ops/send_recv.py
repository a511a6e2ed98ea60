"""_Send and _Recv: where a value leaves a task of a cluster, and where it comes in.

Programs do not make them; the runtime cuts graphs into the parts of tasks with them.
"""

from __future__ import annotations

from stillflow.graph.card import op

_ATTRS = """
    tensor_name: string;  send_device: string;  send_device_incarnation: int;  recv_device: string
    client_terminated: bool = false
    flags: stateful
"""

CROSSINGS = ("_Send", "_Recv")

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
