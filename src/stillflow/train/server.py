"""`tf.train.Server`: a task of a cluster, which other tasks and sessions reach by its port."""

from __future__ import annotations

import errno
import os
import socket
import threading
import weakref
from typing import Any

from stillflow import errors
from stillflow.graph.export import export
from stillflow.protos import ServerDef
from stillflow.runtime import native_log
from stillflow.runtime.cluster import metrics, security, tasks
from stillflow.runtime.cluster.service import serve
from stillflow.runtime.session.session import Session
from stillflow.train.cluster_spec import ClusterSpec

_started: list[Server] = []


@export("train.Server", "distribute.Server")
class Server:
    """Server of one task: runs the operations that sessions place on it, and keeps their state.

    It listens on the address that the cluster gives its task. Who reaches that can run graphs in
    this process: as with TensorFlow's servers, the network of a cluster has to be private.

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

    Example:
      >>> server = tf.train.Server.create_local_server()
      >>> print(tf.Session(server.target).run(tf.constant([1, 2])))
      [1 2]
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
        security.check(self._server_def.protocol)
        self._socket = _bound_socket(self._server_def)
        # A server that was started is there until the process ends, and so is its port.
        self._give_port_back = weakref.finalize(self, self._socket.close)
        port = self._socket.getsockname()[1]
        server = self._server_def
        self._task = tasks.LocalTask(
            f"{server.protocol}://localhost:{port}",
            (server.job_name, server.task_index),
            server.default_session_config if server.HasField("default_session_config") else None,
            server.cluster,
        )
        if start:
            self.start()

    def start(self) -> None:
        """Begins to serve; again, it does nothing."""
        if self in _started:
            return
        _started.append(self)
        tasks.add(self._task)
        metrics.show(self._task, self._socket.getsockname()[0])
        serve(self._task, self._socket, Session)
        for job in self._server_def.cluster.job:
            there = ", ".join(f"{index} -> {job.tasks[index]}" for index in sorted(job.tasks))
            native_log.info(f"Initialize GrpcChannelCache for job {job.name} -> {{{there}}}")
        native_log.info(f"Started server with target: {self.target}")

    def join(self) -> None:
        """Wait for ever: a server does not stop."""
        threading.Event().wait()

    @property
    def server_def(self) -> Any:
        """Its description, a `ServerDef`."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target that sessions connect to."""
        return self._task.target

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Return a server that is a cluster of its own."""
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
    """Return a socket that nobody else can take, at the address that the cluster or the user says.

    A free port for port 0.
    """
    host, port = _address(server)
    host = (os.environ.get("STILLFLOW_CLUSTER_BIND") or host).strip("[]")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # not to wait for the last connections of a server that was restarted
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        hint = ""
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):  # as behind NAT
            hint = (
                f": {host} is no address of this machine. STILLFLOW_CLUSTER_BIND names the one to "
                "listen on, 0.0.0.0 for all"
            )
        raise errors.unknown(f"Could not start gRPC server: {error}{hint}") from None
    return bound


def _address(server: Any) -> tuple[str, int]:
    """Return the host and port that the cluster gives a server."""
    name, index = server.job_name, server.task_index
    job = next((job for job in server.cluster.job if job.name == name), None)
    if job is None:
        raise errors.internal(f'Job "{name}" was not defined in cluster')
    if index not in job.tasks:
        raise errors.invalid_argument(f'Task {index} was not defined in job "{name}"')
    host, colon, port = job.tasks[index].rpartition(":")
    if not colon or not port.isdecimal():
        raise errors.invalid_argument(
            f'Could not parse port for local server from "{job.tasks[index]}".'
        )
    return host, int(port)
