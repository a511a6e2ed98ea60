"""`tf.train.Server`: a target for sessions, in this process."""

from __future__ import annotations

import socket
import threading
import weakref
from typing import Any

from stillflow import errors
from stillflow.graph.export import export
from stillflow.protos import ServerDef
from stillflow.runtime import local_servers
from stillflow.train.cluster_spec import ClusterSpec

_started: list[Server] = []


@export("train.Server", "distribute.Server")
class Server:
    """Keeps the state of sessions that have its target.

    It serves the sessions of its own process: nothing is listening on its port, and sessions are
    refused where a task of the cluster has no started server in this process.

    Args:
      server_or_cluster_def: a `ServerDef`, `ClusterDef` or `ClusterSpec`.
      job_name: the job it is a task of, if the cluster has several.
      task_index: which task it is, if the job has several.
      protocol: "grpc".
      config: the `ConfigProto` of sessions that bring none.
      start: whether to start it.

    Raises:
      TypeError, ValueError: if what it is cannot be told from the arguments.
      tf.errors.InvalidArgumentError, tf.errors.InternalError: if the cluster has no such task, or
        its address names no port.
      tf.errors.UnknownError: if the port is taken.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        self._server_def = _server_def(
            server_or_cluster_def, job_name, task_index, protocol, config
        )
        bound = _bound_socket(self._server_def)
        # A server that was started is there until the process ends, and so is its port.
        self._give_port_back = weakref.finalize(self, bound.close)
        port = bound.getsockname()[1]
        server = self._server_def
        self._server = local_servers.LocalServer(
            f"{server.protocol}://localhost:{port}",
            server.job_name,
            server.task_index,
            server.default_session_config if server.HasField("default_session_config") else None,
            local_servers.cluster_of(server.cluster),
        )
        if start:
            self.start()

    def start(self) -> None:
        """Lets sessions use it."""
        local_servers.add(self._server)
        _started.append(self)

    def join(self) -> None:
        """Waits for ever: a server does not stop.

        Raises:
          tf.errors.UnimplementedError: if it would wait for tasks of other processes.
        """
        self._server.tasks(None)
        threading.Event().wait()

    @property
    def server_def(self) -> Any:
        """What it is, a `ServerDef`."""
        return self._server_def

    @property
    def target(self) -> str:
        """What sessions name it by."""
        return self._server.target

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """A server that is a cluster of its own."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(
    given: Any, job_name: str | None, task_index: int | None, protocol: str | None, config: Any
) -> Any:
    made = ServerDef()
    if isinstance(given, ServerDef):
        made.MergeFrom(given)
        if job_name is not None:
            made.job_name = job_name
        if task_index is not None:
            made.task_index = task_index
        if protocol is not None:
            made.protocol = protocol
    else:
        try:
            cluster = ClusterSpec(given)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                "`tf.train.ClusterSpec`."
            ) from None
        made.cluster.CopyFrom(cluster.as_cluster_def())
        made.job_name = _only(cluster.jobs, job_name, "job_name")
        made.task_index = (
            _only(cluster.task_indices(made.job_name), None, "task_index")
            if task_index is None
            else task_index
        )
        made.protocol = protocol or "grpc"
    if config is not None:
        made.default_session_config.MergeFrom(config)
    return made


def _only(there: Any, given: Any, name: str) -> Any:
    if given is not None:
        return given
    if len(there) != 1:
        raise ValueError(f"Must specify an explicit `{name}`.")
    return there[0]


def _bound_socket(server: Any) -> socket.socket:
    """A socket on the server's port, which nobody else can take; a free one for port 0."""
    port = _port(server)
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.bind(("localhost", port))
    except OSError as error:
        bound.close()
        raise errors.UnknownError(None, None, f"Could not start gRPC server: {error}") from None
    return bound


def _port(server: Any) -> int:
    name, index = server.job_name, server.task_index
    job = next((job for job in server.cluster.job if job.name == name), None)
    if job is None:
        raise errors.InternalError(None, None, f'Job "{name}" was not defined in cluster')
    if index not in job.tasks:
        raise errors.InvalidArgumentError(
            None, None, f'Task {index} was not defined in job "{name}"'
        )
    port = job.tasks[index].rpartition(":")[2]
    if ":" not in job.tasks[index] or not port.isdecimal():
        raise errors.InvalidArgumentError(
            None, None, f'Could not parse port for local server from "{job.tasks[index]}".'
        )
    return int(port)
