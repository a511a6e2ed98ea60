"""Server of requests from other tasks and sessions."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.protos import DeviceAttributes
from stillflow.runtime import native_log
from stillflow.runtime.cluster import security
from stillflow.runtime.cluster.grpc_port import MASTER, WORKER, GrpcPort, as_failure
from stillflow.runtime.cluster.helpers import hand_over
from stillflow.runtime.cluster.packed import pack_all
from stillflow.runtime.cluster.tasks import LocalTask
from stillflow.runtime.cluster.wire import Broken, Frame, OtherVersion, Wire
from stillflow.runtime.plan.crossings import DEAD
from stillflow.util.threads import our_thread

_BACKLOG = 128
Reply = tuple[str, dict[str, Any], list[Any]]  # kind, fields, and tensors
# The methods of `Caller` for what others send, by the names of the messages' fields.
_AT_ONCE = ("arrival", "abort")
_ANSWERED = ("describe", "open", "register", "run", "close", "reset")
_OWN = b"S"  # the first byte of our own protocol


def serve(
    task: LocalTask, listening: socket.socket, make_session: Callable[[str, Graph, Any], Any]
) -> None:
    """Serve a task on a bound socket until the process ends.

    Args:
      task: the task.
      listening: the socket.
      make_session: `Session`, for clients of TensorFlow.
    """
    Service(task, listening, make_session).start()


class Service:
    """Connections to a task: of our own protocol, and of gRPC. See `serve`."""

    def __init__(
        self, task: LocalTask, listening: socket.socket,
        make_session: Callable[[str, Graph, Any], Any],
    ) -> None:  # fmt: skip
        self._task, self._socket, self._make_session = task, listening, make_session
        self._grpc: GrpcPort | None = None
        self._settings = security.from_environment()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Listen, in a thread."""
        self._socket.listen(_BACKLOG)
        name = f"stillflow-service-{self._task.task[0]}-{self._task.task[1]}"
        our_thread(threading.Thread(target=self._accept, name=name, daemon=True)).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            try:
                listen = threading.Thread(target=self._listen, args=(connection,), daemon=True)
                our_thread(listen).start()
            except RuntimeError:  # there are too many threads
                connection.close()

    def _listen(self, connection: socket.socket) -> None:
        try:
            first = connection.recv(1, socket.MSG_PEEK)
            wire = Wire(connection)
        except OSError:  # it is closed already
            connection.close()
            return
        if first in (_OWN, b"") and not self._settings.is_on:
            Caller(self._task, wire).listen()
            return
        try:
            self._port().take(connection)
        except (errors.OpError, OSError, RuntimeError) as error:
            native_log.info(f"Failed to serve a gRPC connection: {error}")
            wire.close()

    def _port(self) -> GrpcPort:
        with self._lock:
            if self._grpc is None:
                from stillflow.runtime.cluster.master_service import MasterService
                from stillflow.runtime.cluster.worker_service import WorkerService

                masters = MasterService(self._task, self._make_session)
                services = {MASTER: masters.calls(), WORKER: WorkerService(self._task).calls()}
                self._grpc = GrpcPort(services, self._settings)
            return self._grpc


class Caller:
    """Another process at the other end of a connection.

    Args:
      task: what it talks to.
      wire: the connection.
    """

    def __init__(self, task: LocalTask, wire: Wire) -> None:
        self._task, self._wire = task, wire
        self._sessions: set[str] = set()

    def listen(self) -> None:
        """Handle requests until the connection closes; its sessions end with it."""
        try:
            self._listen()
        except OtherVersion as error:
            native_log.info(f"Failed to serve a connection: {error}")
            with contextlib.suppress(Broken):
                self._wire.send(failure={"message": str(error)})  # says which version is here
        except (Broken, RuntimeError):
            pass  # it has ended, or there are too many threads
        self._wire.close()
        for session in self._sessions:
            self._task.close(session)

    def _listen(self) -> None:
        while True:
            frame = self._wire.receive()
            if frame.kind in _AT_ONCE:
                getattr(self, f"_{frame.kind}")(frame)
            elif frame.kind in _ANSWERED:
                hand_over(self._answer, getattr(self, f"_{frame.kind}"), frame)
            else:
                raise Broken("it says what no task says")
            del frame  # not to hold it until the next comes

    def _answer(self, act: Callable[..., Any], frame: Frame) -> None:
        try:
            kind, answer, packed = act(frame)
            reply = {kind: answer}
        except Exception as raised:
            reply, packed = {"failure": _failure(raised)}, []
        with contextlib.suppress(Broken):  # then nobody waits for it
            self._wire.send(packed, frame.number, **reply)

    # ---- executed at once

    def _arrival(self, frame: Frame) -> None:
        arrival, tensors = frame.content, frame.tensors
        if not arrival.dead and len(tensors) != 1:
            raise Broken("an arrival is one tensor")
        guest = self._task.find(arrival.session)
        if guest is not None:  # else the session is over
            guest.arrive(frame.step, arrival.key, DEAD if arrival.dead else tensors[0])

    def _abort(self, frame: Frame) -> None:
        guest = self._task.find(frame.content.session)
        if guest is not None:
            guest.abort(frame.step)

    # ---- answers

    def _describe(self, frame: Frame) -> Reply:
        del frame
        job, task = self._task.task
        return "description", {"cluster": self._task.cluster_def, "job": job, "task": task}, []

    def _open(self, frame: Frame) -> Reply:
        wanted = frame.content
        config = wanted.config if wanted.HasField("config") else None
        task = wanted.job, wanted.task
        guest = self._task.open(wanted.session, task, wanted.cluster, config)
        self._sessions.add(wanted.session)
        devices = [
            DeviceAttributes(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                incarnation=device.incarnation,
            )
            for device in guest.devices
        ]
        return "opened", {"devices": devices}, []

    def _register(self, frame: Frame) -> Reply:
        part = frame.content
        guest = self._task.guest(part.session)
        number = guest.register(part.graph, part.feeds, part.fetches, part.targets)
        return "registered", {"part": number}, []

    def _run(self, frame: Frame) -> Reply:
        run = frame.content
        guest = self._task.guest(run.session)
        options = run.options if run.HasField("options") else None
        values, metadata = guest.run(run.part, frame.step, frame.tensors, options)
        return "ran", {"metadata": metadata}, pack_all(values, guest.part(run.part).types)

    def _close(self, frame: Frame) -> Reply:
        self._sessions.discard(frame.content.session)
        self._task.close(frame.content.session)
        return "done", {}, []

    def _reset(self, frame: Frame) -> Reply:
        self._task.clear(list(frame.content.containers))
        return "done", {}, []


def _failure(raised: BaseException) -> dict[str, Any]:
    """Return an error as the fields of a `Failure` message."""
    error = as_failure(raised)
    name = getattr(error.op, "name", error.op)
    # Its nodes are named with the other side's knowledge: the lines of its program.
    return {"code": error.error_code, "message": error._message, "op": name}
