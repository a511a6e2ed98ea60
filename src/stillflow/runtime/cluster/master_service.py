"""`tensorflow.MasterService`: sessions of clients of TensorFlow, in Python, C, Go or Java."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any

from stillflow import errors
from stillflow.graph.extension import extend
from stillflow.graph.graph import Graph
from stillflow.protos import RunMetadata
from stillflow.runtime.cluster import targets, tensor_coding
from stillflow.runtime.cluster.grpc_port import Call, as_failure, file, while_wanted
from stillflow.runtime.cluster.guests import task_name
from stillflow.runtime.cluster.tasks import LocalTask

_messages = file("tensorflow/core/protobuf/master.proto")


class ClientSession:
    """A client's session, and the version of its graph.

    Args:
      session: a `BaseSession` on an empty graph of its own.
    """

    def __init__(self, session: Any) -> None:
        self.session = session
        self.version = 0
        self.callables: dict[int, tuple[Any, Callable[..., list[Any]]]] = {}
        self.numbers = itertools.count()

    def extend(self, graph_def: Any) -> None:
        """Add to the graph, and place the operations; if that fails, none is added."""
        session = self.session
        with session._lock:
            added = extend(session.graph, graph_def)
            try:
                session._take_changes()
            except BaseException:
                session.graph._remove(added)
                raise

    def fetches(self, request: Any) -> list[Any]:
        """Return the tensors and operations that a request asks for; NotFoundError for others."""
        found: list[Any] = [self._tensor(name, "FetchOutputs node") for name in request.fetch]
        by_name = self.session.graph._by_name
        for name in request.target:
            if name not in by_name:
                raise errors.not_found(f"PruneForTargets: Some target nodes not found: {name} ")
            found.append(by_name[name])
        if not found:
            raise errors.invalid_argument("Must specify at least one target to fetch or execute.")
        return found

    def feeds(self, values: Mapping[str, Any]) -> dict[Any, Any]:
        """Return the values that a request feeds, by tensor."""
        missing = "FeedInputs: unable to find feed output"
        array_of = tensor_coding.array_of
        return {self._tensor(name, missing): array_of(each) for name, each in values.items()}

    def _tensor(self, text: str, missing: str) -> Any:
        name, _, number = text.partition(":")
        op = self.session.graph._by_name.get(name)
        index = int(number) if number.isdecimal() else 0
        if op is None:
            after = ": not found" if missing.startswith("Fetch") else ""
            raise errors.not_found(f"{missing} {text}{after}")
        if index >= len(op._outputs):
            raise errors.invalid_argument(
                f"FetchOutputs {text}: output index too large, must be < {len(op._outputs)}"
            )
        return op._outputs[index]


class MasterService:
    """The service's calls, by a task of this process.

    Args:
      task: the task.
      make_session: `Session`, of a target, a graph and a `ConfigProto` or None.
    """

    def __init__(self, task: LocalTask, make_session: Callable[[str, Graph, Any], Any]) -> None:
        self._task, self._make_session = task, make_session
        self._sessions: dict[str, ClientSession] = {}
        self._lock = threading.Lock()

    def calls(self) -> dict[str, Call]:
        """Return the calls by the names of their methods."""
        return {
            "CreateSession": self._create,
            "ExtendSession": self._extend,
            "PartialRunSetup": self._set_up,
            "RunStep": self._run_step,
            "CloseSession": self._close,
            "ListDevices": self._list_devices,
            "Reset": self._reset,
            "MakeCallable": self._make_callable,
            "RunCallable": self._run_callable,
            "ReleaseCallable": self._release_callable,
        }

    def _find(self, handle: str) -> ClientSession:
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found.")
        return found

    def _create(self, request: Any, context: Any) -> Any:
        config = None
        if request.HasField("config") and request.config.ByteSize():
            config = request.config
            config.operation_timeout_in_ms = 0  # the client holds it, by the calls' deadlines
        made = ClientSession(self._make_session(self._task.target, Graph(), config))
        try:
            with while_wanted(context):
                made.extend(request.graph_def)
        except BaseException:
            made.session.close()
            raise
        handle = secrets.token_hex(8)
        with self._lock:
            self._sessions[handle] = made
        return _messages["CreateSessionResponse"](session_handle=handle)

    def _extend(self, request: Any, context: Any) -> Any:
        session = self._find(request.session_handle)
        with session.session._lock, while_wanted(context):
            if request.current_graph_version != session.version:
                raise errors.AbortedError(
                    None, None, f"Current version is {session.version} but caller expected "
                    f"{request.current_graph_version}.",
                )  # fmt: skip
            session.extend(request.graph_def)
            session.version += 1
            return _messages["ExtendSessionResponse"](new_graph_version=session.version)

    def _set_up(self, request: Any, context: Any) -> Any:
        del context
        session = self._find(request.session_handle)
        fetches = session.fetches(request)
        handle = session.session.partial_run_setup(fetches, list(request.feed))
        return _messages["PartialRunSetupResponse"](partial_run_handle=handle)

    def _run_step(self, data: bytes, context: Any) -> Any:
        request, values = tensor_coding.parsed(_messages["RunStepRequest"], 2, data)
        response = _messages["RunStepResponse"]()
        try:
            with while_wanted(context):
                return self._run(request, values, response)
        except Exception as raised:
            if not request.store_errors_in_response_body:
                raise
            error = as_failure(raised)
            response.Clear()
            response.status_code = error.error_code
            response.status_error_message = error._message
        return response

    def _run(self, request: Any, fed: Mapping[str, Any], response: Any) -> bytes:
        client = self._find(request.session_handle)
        session = client.session
        if request.partial_run_handle:
            if request.partial_run_handle not in session._partial_runs:
                raise errors.invalid_argument(
                    "Must run PartialRunSetup before performing partial runs"
                )
            fetches, feeds = client.fetches(request), client.feeds(fed)
            values = session.partial_run(request.partial_run_handle, fetches, feeds)
        else:
            fetches, feeds = client.fetches(request), client.feeds(fed)
            options = metadata = None
            if request.HasField("options"):
                options = request.options
                options.timeout_in_ms = 0  # the client holds it, by the call's deadline
                if options.ByteSize():
                    metadata = RunMetadata()
                else:
                    options = None
            values = session.run(fetches, feeds, options, metadata)
            if metadata is not None:
                response.metadata.CopyFrom(metadata)
        response.metadata.SetInParent()
        found = zip(request.fetch, fetches, values, strict=False)
        return tensor_coding.joined(response, [
            tensor_coding.named(1, name, value, tensor.dtype)
            for name, tensor, value in {each[0]: each for each in found}.values()
        ])  # fmt: skip

    def _close(self, request: Any, context: Any) -> Any:
        del context
        with self._lock:
            session = self._sessions.pop(request.session_handle, None)
        if session is None:
            raise errors.AbortedError(None, None, _restarted(request.session_handle))
        session.session.close()
        return _messages["CloseSessionResponse"]()

    def _list_devices(self, request: Any, context: Any) -> Any:
        response = _messages["ListDevicesResponse"]()
        client = self._sessions.get(request.session_handle)
        if request.session_handle and client is None:
            raise errors.invalid_argument(_restarted(request.session_handle))
        session = client.session if client else self._make_session(self._task.target, Graph(), None)
        try:
            with while_wanted(context):
                found = session.list_devices()
        finally:
            if client is None:
                session.close()
        local = task_name(self._task.task) + "/"
        for device in found:
            listed = response.local_device if device.name.startswith(local) else None
            (response.remote_device if listed is None else listed).add(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                incarnation=device.incarnation % (1 << 64),
            )
        return response

    def _reset(self, request: Any, context: Any) -> Any:
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for client in sessions:
            client.session.close()
        with while_wanted(context):
            targets.reset(self._task, list(request.container) or None, 0)
        return _messages["ResetResponse"]()

    def _make_callable(self, request: Any, context: Any) -> Any:
        del context
        client = self._find(request.session_handle)
        options = request.options
        client.fetches(options)
        tensors = [client._tensor(name, "FetchOutputs node") for name in options.fetch]
        function = client.session._make_callable_from_options(options)
        with self._lock:
            handle = next(client.numbers)
            client.callables[handle] = tensors, function
        return _messages["MakeCallableResponse"](handle=handle)

    def _run_callable(self, request: Any, context: Any) -> Any:
        client = self._find(request.session_handle)
        if request.handle not in client.callables:
            raise errors.invalid_argument(f"No such callable handle: {request.handle}")
        tensors, function = client.callables[request.handle]
        response = _messages["RunCallableResponse"]()
        with while_wanted(context):
            values = function(*(tensor_coding.array_of(feed) for feed in request.feed))
        for tensor, value in zip(tensors, values, strict=True):
            tensor_coding.fill(response.fetch.add(), value, tensor.dtype)
        return response

    def _release_callable(self, request: Any, context: Any) -> Any:
        del context
        with contextlib.suppress(KeyError):
            del self._find(request.session_handle).callables[request.handle]
        return _messages["ReleaseCallableResponse"]()


def _restarted(handle: str) -> str:
    return f"Session {handle} is not found. Possibly, this master has restarted."
