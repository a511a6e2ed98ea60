"""Servers of this process: state that outlives the sessions which name a server as their target."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.device import DeviceSpecV2
from stillflow.runtime.devices import DeviceAttributes, session_devices
from stillflow.runtime.resources import Resources

Task = tuple[str, int]  # a job, and which of its tasks
Cluster = dict[Task, str]

_THIS_HOST = ("localhost", "127.0.0.1", "")


class LocalServer:
    """A task of a cluster, and the state behind its target.

    Args:
      target: what sessions name it by, `grpc://host:port`.
      job: the job it is a task of.
      task: which task it is.
      config: the `ConfigProto` of sessions that bring none, or None.
      cluster: the addresses of all tasks, by job and task.
    """

    def __init__(self, target: str, job: str, task: int, config: Any, cluster: Cluster) -> None:
        self.target = target
        self.task = (job, task)
        self.config = config
        self._cluster = cluster
        self._sessions: list[weakref.WeakMethod[Any]] = []
        self._shared: Resources | None = None

    def tasks(self, config: Any) -> dict[Task, LocalServer]:
        """The servers whose devices a session on this one uses: this one, then the others.

        Args:
          config: the session's `ConfigProto`, or None; it may name another cluster or leave tasks
            out.

        Raises:
          tf.errors.InvalidArgumentError: if this server is not in the session's cluster.
          tf.errors.UnimplementedError: if one of the others is not in this process.
        """
        own, cluster = self.task, self._cluster
        if config is not None and config.HasField("cluster_def"):
            own, cluster = self._within(config.cluster_def)
        names = config.device_filters if config is not None else ()
        filters = [DeviceSpecV2.from_string(name) for name in names]
        others = [task for task in sorted(cluster) if task != own and _passes(task, filters)]
        found = {task: _at(cluster[task]) for task in others}
        missing = [f"/job:{job}/task:{i}" for (job, i), server in found.items() if server is None]
        if missing:
            raise errors.UnimplementedError(
                None,
                None,
                f"Stillflow runs a cluster in one process: {', '.join(missing)} of the cluster of "
                f"{len(cluster)} tasks is no started tf.train.Server of this process, and "
                "servers of other processes are not supported yet",
            )
        return {own: self} | {task: server for task, server in found.items() if server is not None}

    def _within(self, cluster_def: Any) -> tuple[Task, Cluster]:
        """Which task of a cluster this server is, by its address."""
        cluster = cluster_of(cluster_def)
        address = self.target.partition("://")[2]
        matching = [task for task, there in cluster.items() if there == address]
        if len(matching) != 1:
            how = "Found multiple matching tasks" if matching else "The master is not among tasks"
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{how} that correspond to to the master. Master target: '{self.target}'. "
                f"ClusterDef: {' '.join(str(cluster_def).split())}",
            )
        return matching[0], cluster

    def devices(self, config: Any) -> list[DeviceAttributes]:
        """The devices of a session on this server, of all tasks."""
        return [
            device
            for (job, index), server in self.tasks(config).items()
            for device in session_devices(
                server.config, f"/job:{job}/replica:0/task:{index}/device:"
            )
        ]

    def resources(
        self, make: Callable[[], Resources], config: Any, abort: Callable[[], None]
    ) -> Resources:
        """The state of one of its sessions.

        Args:
          make: gives an empty one.
          config: the session's `ConfigProto`, or None.
          abort: a method of the session, called when the server is reset.
        """
        tasks = self.tasks(config)
        isolated = config is not None and (
            config.isolate_session_state
            or (
                config.HasField("cluster_def")
                and not config.experimental.share_session_state_in_clusterspec_propagation
            )
        )
        with _lock:
            self._sessions.append(weakref.WeakMethod(abort))
            stores = {
                task: make() if isolated else server._state(make) for task, server in tasks.items()
            }
        return _OfSession(next(iter(tasks)), stores)

    def _state(self, make: Callable[[], Resources]) -> Resources:
        if self._shared is None:
            self._shared = make()
        return self._shared

    def reset(self, containers: list[str] | None) -> None:
        """Ends its sessions, forgets the state in some containers, or all, of the whole cluster."""
        with _lock:
            sessions, self._sessions = self._sessions, []
            for server in self.tasks(None).values():
                if server._shared is not None:
                    server._shared.clear(containers or None)
        for session in sessions:
            abort = session()
            if abort is not None:
                abort()


class _OfSession(Resources):
    """A session's view of the state of a task; what operations keep to themselves is its own.

    Args:
      task: the task.
      stores: the state of each task of the cluster.
    """

    def __init__(self, task: Task, stores: dict[Task, Resources]) -> None:
        shared = stores[task]
        super().__init__(shared.device_of, shared.from_array)
        self._shared = shared
        self._task = task
        self._stores = stores

    def at(self, device: str) -> Resources:
        spec = DeviceSpecV2.from_string(device)
        task = (spec.job or self._task[0], self._task[1] if spec.task is None else spec.task)
        if spec.job not in (None, self._task[0]) and spec.task is None:
            task = min(found for found in self._stores if found[0] == spec.job)
        return self if task == self._task else self._stores[task]

    def get(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        return self._shared.get(container, kind, name, create)

    def own(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        return super().get(container, kind, name, create)

    def find(self, container: str, kind: str, name: str) -> Any:
        return self._shared.find(container, kind, name)


def _passes(task: Task, filters: list[DeviceSpecV2]) -> bool:
    """Whether a session with these device filters may use a task."""
    return not filters or any(
        wanted.job in (None, task[0]) and wanted.task in (None, task[1]) for wanted in filters
    )


def cluster_of(cluster_def: Any) -> Cluster:
    """The addresses that a `ClusterDef` names."""
    return {(job.name, index): job.tasks[index] for job in cluster_def.job for index in job.tasks}


_servers: dict[str, LocalServer] = {}
_lock = threading.Lock()


def add(server: LocalServer) -> None:
    """Makes a server known by its target."""
    _servers[server.target] = server


def _at(address: str) -> LocalServer | None:
    """The started server of this process at an address of a cluster."""
    host, _, port = address.rpartition(":")
    return _servers.get(f"grpc://localhost:{port}") if host in _THIS_HOST else None


def find(target: bytes) -> LocalServer | None:
    """The server behind a target; None for the empty one, which is the session itself.

    Raises:
      tf.errors.NotFoundError: if there is no such server in this process.
    """
    if not target:
        return None
    name = target.decode(errors="replace")
    server = _servers.get(name)
    if server is None:
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{name}"}} '
            "Stillflow runs sessions in this process only, on tf.train.Servers that it started; "
            "remote targets are not supported yet.",
        )
    return server
