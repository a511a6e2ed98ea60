"""The server that a session names as its target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.runtime.interrupts import time_limit
from stillflow.util.weak import LiveSet

if TYPE_CHECKING:
    from stillflow.runtime.cluster.access import RemoteTask
    from stillflow.runtime.cluster.master import Master
    from stillflow.runtime.cluster.remote_master import RemoteMaster
    from stillflow.runtime.cluster.tasks import LocalTask
    from stillflow.runtime.session.session import BaseSession

ALONE: LiveSet[BaseSession] = LiveSet()  # sessions without a server


def find(target: bytes) -> LocalTask | RemoteTask | None:
    """Return the server behind a target; None for the empty one, which is the session itself."""
    if not target:
        return None
    from stillflow.runtime.cluster import security, tasks

    name = target.decode(errors="replace")
    local = tasks.find(name)
    if local is not None:
        return local
    scheme, _, address = name.partition("://")
    if scheme not in ("grpc", security.TLS_PROTOCOL):
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{name}" '
            "config: } Registered factories are {DIRECT_SESSION, GRPC_SESSION}.",
        )
    if not address.rpartition(":")[2].isdecimal() or ":" not in address:
        raise errors.InvalidArgumentError(
            None, None, f'Could not interpret "{address}" as a host-port pair.'
        )
    security.check(scheme, serves=False)
    from stillflow.runtime.cluster.access import RemoteTask

    return RemoteTask(name)


def master(
    target: LocalTask | RemoteTask | None, graph: Graph, config: Any, check: Callable[[], None]
) -> Master | RemoteMaster | None:
    """Return the master of a session on its target's cluster. None for the empty target."""
    if target is None:
        return None
    from stillflow.runtime.cluster.master import Master
    from stillflow.runtime.cluster.remote_master import RemoteMaster
    from stillflow.runtime.cluster.tasks import LocalTask

    if isinstance(target, LocalTask):
        return Master(target, graph, config, check)
    return RemoteMaster(target, graph, config, check)


def reset_alone() -> None:
    """End all sessions without a server; cancel their runs."""
    for session in ALONE:
        ALONE.discard(session)
        session._free()


def reset(target: LocalTask | RemoteTask, containers: list[str] | None, milliseconds: int) -> None:
    """Forget containers, all if there are none, of a cluster's tasks; end the target's sessions.

    DeadlineExceededError if a task cannot be reached for so long; 0 is no limit.
    """
    from stillflow.runtime.cluster.guests import task_name
    from stillflow.runtime.cluster.links import IsTensorFlow, ask_when_there
    from stillflow.runtime.cluster.remote_worker import clear
    from stillflow.runtime.cluster.tasks import LocalTask, cluster_of

    with time_limit(milliseconds, "Deadline Exceeded"):
        if not isinstance(target, LocalTask) and target.is_tensorflow:
            from stillflow.runtime.cluster.remote_master import reset as reset_there

            reset_there(target, containers or ())
            return
        for task, address in cluster_of(target.cluster_def).items():
            if task == target.task and isinstance(target, LocalTask):
                target.clear(containers)
                continue
            own = task == target.task and target.target.partition("://")[2]
            wanted = {"containers": containers or ()}
            there = own or address
            try:
                ask_when_there(there, task_name(task), lambda: None, reset=wanted)
            except IsTensorFlow:
                clear(there, containers or ())
    if isinstance(target, LocalTask):
        target.end_sessions()


def as_bytes(target: Any) -> bytes:
    """Return the target as bytes, as `sess_str` gives it; TypeError if it is no string."""
    if not isinstance(target, (str, bytes)):
        hint = ""
        if type(target).__name__ == "ConfigProto":
            hint = '. Did you do "Session(config)" instead of "Session(config=config)"?'
        raise TypeError(f"target must be a string, but got {type(target)}{hint}")
    return target if isinstance(target, bytes) else target.encode()
