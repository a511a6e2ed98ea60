"""The server that a session names as its target."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.runtime.distributed import tasks
from stillflow.runtime.distributed.tasks import LocalTask

if TYPE_CHECKING:
    from stillflow.runtime.distributed.access import RemoteTask
    from stillflow.runtime.distributed.master import Master

_SCHEME = "grpc://"


def find(target: bytes) -> LocalTask | RemoteTask | None:
    """The server behind a target; None for the empty one, which is the session itself.

    Raises:
      tf.errors.NotFoundError: if it is no address of a server.
    """
    if not target:
        return None
    name = target.decode(errors="replace")
    local = tasks.find(name)
    if local is not None:
        return local
    if not name.startswith(_SCHEME) or ":" not in name[len(_SCHEME) :]:
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{name}" '
            "config: } Registered factories are {DIRECT_SESSION, GRPC_SESSION}.",
        )
    from stillflow.runtime.distributed.access import RemoteTask

    return RemoteTask(name)


def master(
    target: LocalTask | RemoteTask | None, graph: Graph, config: Any, check: Callable[[], None]
) -> Master | None:
    """What runs a session on its target's cluster; see `Master`. None for the empty target."""
    if target is None:
        return None
    from stillflow.runtime.distributed.master import Master

    return Master(target, graph, config, check)


def reset(target: LocalTask | RemoteTask, containers: list[str] | None) -> None:
    """Forgets what the tasks of a target's cluster keep, and ends the sessions on the target."""
    from stillflow.runtime.distributed.links import link_to

    for task, address in tasks.cluster_of(target.cluster_def).items():
        if task == target.task and isinstance(target, LocalTask):
            target.clear(containers)
        else:
            own = task == target.task and target.target.partition("://")[2]
            link_to(own or address).ask(reset={"containers": containers or ()}).wait()
    if isinstance(target, LocalTask):
        target.end_sessions()
