"""`tensorflow.WorkerService`: parts of graphs that a master of TensorFlow registers and runs."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.ops.send_recv import CROSSINGS, FEED, RECV, SEND, plain_kind, rendezvous_key
from stillflow.protos import ConfigProto, GraphDef, RunOptions
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.grpc_port import Call, as_failure, file, while_wanted
from stillflow.runtime.cluster.guests import Guest
from stillflow.runtime.cluster.partition import EFFECT
from stillflow.runtime.cluster.tasks import LocalTask

_messages = file("tensorflow/core/protobuf/worker.proto")


class Registered(NamedTuple):
    """A part of a graph, and the keys of its feeds and fetches, in order."""

    guest: Guest
    number: int
    feeds: Sequence[str]
    fetches: Sequence[str]


class WorkerService:
    """The service's calls, by a task of this process.

    Args:
      task: the task.
    """

    def __init__(self, task: LocalTask) -> None:
        self._task = task
        self._parts: dict[str, Registered] = {}
        self._made: set[str] = set()  # sessions that the master makes and deletes
        self._lock = threading.Lock()

    def calls(self) -> dict[str, Call]:
        """Return the calls by the names of their methods."""
        return {
            "GetStatus": self._status,
            "CreateWorkerSession": self._create,
            "DeleteWorkerSession": self._delete,
            "RegisterGraph": self._register,
            "DeregisterGraph": self._deregister,
            "RunGraph": self._run_graph,
            "CleanupGraph": self._clean_up,
            "CleanupAll": self._clean_all,
            "RecvTensor": self._receive,
            "Logging": lambda request, context: _messages["LoggingResponse"](),
            "Tracing": lambda request, context: _messages["TracingResponse"](),
        }

    def _status(self, request: Any, context: Any) -> Any:
        del request, context
        response = _messages["GetStatusResponse"]()
        for device in self._task.devices():
            response.device_attributes.add(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                incarnation=device.incarnation,
            )
        return response

    def _create(self, request: Any, context: Any) -> None:
        del context
        server = request.server_def
        task, cluster = self._task.task, self._task.cluster_def
        if server.cluster.job:
            task, cluster = (server.job_name, server.task_index), server.cluster
        config = ConfigProto(isolate_session_state=request.isolate_session_state)
        self._task.open(request.session_handle, task, cluster, config, asks=True)
        self._made.add(request.session_handle)

    def _delete(self, request: Any, context: Any) -> None:
        del context
        self._made.discard(request.session_handle)
        self._task.close(request.session_handle)

    def _register(self, request: Any, context: Any) -> Any:
        del context
        task, session = self._task, request.session_handle
        with self._lock:
            guest = task.find(session)
            if guest is None and request.create_worker_session_called:
                task.guest(session)  # raises an error: this process has started again
            if guest is None:
                guest = task.open(session, task.task, task.cluster_def, None, asks=True)
        part = _rewritten(request.graph_def)
        names = list(part.feeds.values()), list(part.fetches.values())
        number = guest.register(part.graph, *names, part.targets)
        handle = secrets.token_hex(8)
        self._parts[handle] = Registered(guest, number, list(part.feeds), list(part.fetches))
        return _messages["RegisterGraphResponse"](graph_handle=handle)

    def _deregister(self, request: Any, context: Any) -> None:
        del context
        with self._lock:
            part = self._find(request.graph_handle)
            del self._parts[request.graph_handle]
            handle = part.guest.handle
            others = any(each.guest is part.guest for each in self._parts.values())
        if not others and handle not in self._made:
            self._task.close(handle)

    def _find(self, handle: str) -> Registered:
        part = self._parts.get(handle)
        if part is None:
            raise errors.aborted(f"Graph handle is not found: {handle}")
        return part

    def _run_graph(self, data: bytes, context: Any) -> Any:
        request, given = tensor_coding.parsed(_messages["RunGraphRequest"], 3, data)
        response = _messages["RunGraphResponse"]()
        try:
            return self._run(request, given, response, context)
        except Exception as raised:
            if not request.store_errors_in_response_body:
                raise
            error = as_failure(raised)
            response.Clear()
            response.status_code = error.error_code
            response.status_error_message = error._message
        return response

    def _run(self, request: Any, given: Mapping[str, Any], response: Any, context: Any) -> bytes:
        if request.is_partial:
            raise errors.unimplemented("Stillflow cannot do a run of several tasks in steps yet")
        part = self._find(request.graph_handle)
        guest, step = part.guest, request.step_id
        missing = [key for key in part.feeds if key not in given]
        if missing:
            raise errors.invalid_argument(f"No value was sent for {missing[0]}")
        arrays = [tensor_coding.array_of(given[key]) for key in part.feeds]
        options = RunOptions(trace_level=3) if request.exec_opts.record_timeline else None
        if not context.add_callback(lambda: guest.steps.abort(step)):
            raise errors.CancelledError(None, None, "Step was cancelled")
        values, metadata = guest.run(part.number, step, arrays, options)
        if metadata is not None:
            response.step_stats.CopyFrom(metadata.step_stats)
        types = guest.part(part.number).types
        found = zip(part.fetches, values, types, strict=True)
        named = [tensor_coding.named(1, *each) for each in found if each[0] in request.recv_key]
        return tensor_coding.joined(response, named)

    def _clean_up(self, request: Any, context: Any) -> None:
        del context
        self._task.rendezvous.end(request.step_id)

    def _clean_all(self, request: Any, context: Any) -> None:
        del context
        self._task.clear(list(request.container) or None)

    def _receive(self, request: Any, context: Any) -> bytes:
        with while_wanted(context):
            return self._task.rendezvous.take(request.step_id, request.rendezvous_key)


class _Part:
    """A part of a graph in our form: feeds and fetches by key, with their names in the graph."""

    def __init__(self) -> None:
        self.graph = GraphDef()
        self.feeds: dict[str, str] = {}
        self.fetches: dict[str, str] = {}
        self.targets: list[str] = []


def _rewritten(graph_def: Any) -> _Part:
    """Return a part of TensorFlow's, whose feeds and fetches are `_Recv` and `_Send` as well."""
    part = _Part()
    part.graph.versions.CopyFrom(graph_def.versions)
    part.graph.library.CopyFrom(graph_def.library)
    inputs = (text.lstrip("^") for node in graph_def.node for text in node.input)
    used = {_public(text.partition(":")[0]) for text in inputs}
    for node in graph_def.node:
        node.name = _public(node.name)
        for place, text in enumerate(node.input):
            node.input[place] = f"^{_public(text[1:])}" if text[0] == "^" else _public(text)
        kind = plain_kind(node.op)
        from_client = kind in CROSSINGS and node.attr["client_terminated"].b
        if from_client and kind == SEND:
            name, _, number = node.input[0].partition(":")
            part.fetches[rendezvous_key(_attrs(node))] = f"{name}:{number or 0}"
            continue
        made = part.graph.node.add()
        if from_client:
            part.feeds[rendezvous_key(_attrs(node))] = node.name
            made.name, made.op, made.device = node.name, FEED, node.device
            made.attr["dtype"].type = node.attr["tensor_type"].type
            made.attr["shape"].shape.unknown_rank = True
            made.input.extend(text for text in node.input if text.startswith("^"))
            continue
        made.CopyFrom(node)
        made.op = kind
        made.attr.pop("_class", None)  # devices are settled
        if kind == RECV:
            made.attr["_conditional"].b = True  # the other part may have it in a branch
        elif kind == SEND:
            part.targets.append(node.name)
        elif node.name not in used:
            made.attr[EFFECT].b = True
    return part


def _public(name: str) -> str:
    """Return the name of a node; graphs do not have those that TensorFlow's runtime makes."""
    return f"internal{name}" if name[0] == "_" else name


def _attrs(node: Any) -> dict[str, Any]:
    names = ("send_device", "recv_device", "tensor_name")
    found: dict[str, Any] = {name: node.attr[name].s for name in names}
    found["send_device_incarnation"] = node.attr["send_device_incarnation"].i
    return found
