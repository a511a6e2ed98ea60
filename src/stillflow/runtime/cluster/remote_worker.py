"""A session's access to a task of TensorFlow, by its `tensorflow.WorkerService`."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.operation import Tensor
from stillflow.ops.send_recv import CROSSINGS, RECV, SEND, rendezvous_key
from stillflow.protos import GraphDef, RunMetadata
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.grpc_client import as_error, caller
from stillflow.runtime.cluster.grpc_port import WORKER, file
from stillflow.runtime.cluster.guests import Task, task_name
from stillflow.runtime.cluster.links import Answer
from stillflow.runtime.devices.devices import DeviceAttributes

_messages = file("tensorflow/core/protobuf/worker.proto")
_NODE = re.compile(r"\[\[\{\{node ([^\} ]*)\}\}")
_PLACED = ("CPU", "GPU")  # devices that operations are placed on unasked


class _Registered(NamedTuple):
    """A part, and the keys of its feeds and fetches, in order."""

    handle: str
    feeds: list[str]
    fetches: list[str]


class TensorFlowTask:
    """A task of TensorFlow, which does its part of a step by itself. See `Remote`."""

    def __init__(
        self, address: str, handle: str, task: Task, cluster_def: Any, own_session: bool
    ) -> None:
        self._handle, self.name = handle, task_name(task)
        self._caller = caller(address, WORKER)
        self._own_session = own_session
        if own_session:
            request = _messages["CreateWorkerSessionRequest"](session_handle=handle)
            request.server_def.cluster.CopyFrom(cluster_def)
            request.server_def.job_name, request.server_def.task_index = task
            request.server_def.protocol = "grpc"
            request.isolate_session_state = True
            self._caller.ask("CreateWorkerSession", request)
        status = self._caller.ask("GetStatus", _messages["GetStatusRequest"]())
        self.devices = [
            DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation)
            for d in status.device_attributes
            if d.device_type in _PLACED
        ]
        self._parts: dict[int, _Registered] = {}
        self._numbers = itertools.count(1)
        self._running: dict[int, Any] = {}
        self._lock = threading.Lock()

    def register(
        self, graph_def: Any, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str],
        tensors: Sequence[Tensor],
    ) -> int:  # fmt: skip
        """See `Guest.register`; the task runs all operations of the part.

        `tensors` are those of the fetches.
        """
        del targets
        number = next(self._numbers)
        graph = _renamed(graph_def, number)
        device, incarnation = self.devices[0].name, self.devices[0].incarnation
        nodes = {node.name: node for node in graph.node}
        keys = []
        for name in feeds:
            node = nodes[name]
            dtype = node.attr["dtype"].type
            node.Clear()
            node.name, node.op, node.device = name, RECV, device
            node.attr["tensor_type"].type = dtype
            keys.append(_client(node, f"{name}_{number}", device, incarnation))
        asked = []
        for place, (name, tensor) in enumerate(zip(fetches, tensors, strict=True)):
            source = nodes[name.partition(":")[0]]
            node = graph.node.add(name=f"{source.name}/_fetched_{number}_{place}", op=SEND)
            node.device = source.device
            node.input.append(name)
            node.attr["T"].type = tensor.dtype.base_dtype.as_datatype_enum
            asked.append(_client(node, f"{name}_{number}_{place}", source.device, incarnation))
        request = _messages["RegisterGraphRequest"](
            session_handle=self._handle,
            create_worker_session_called=self._own_session,
            graph_def=graph,
        )
        handle = self._caller.ask("RegisterGraph", request).graph_handle
        self._parts[number] = _Registered(handle, keys, asked)
        return number

    def begin(
        self, part: int, step: int, arrays: Sequence[np.ndarray], fed: Sequence[Tensor],
        options: Any, settled: Callable[[Answer], None],
    ) -> Answer:  # fmt: skip
        """See `Remote.begin`."""
        registered = self._parts[part]
        request = _messages["RunGraphRequest"](
            session_handle=self._handle,
            create_worker_session_called=self._own_session,
            graph_handle=registered.handle,
            step_id=step,
            recv_key=registered.fetches,
            store_errors_in_response_body=True,
        )
        if options is not None:
            request.exec_opts.record_timeline = request.exec_opts.record_costs = True
        types = [tensor.dtype for tensor in fed]
        given = map(tensor_coding.named, repeat(3), registered.feeds, arrays, types)
        data = tensor_coding.joined(request, given)
        answer = Answer(settled)
        with self._lock:
            self._running[step] = None
        future = self._caller.begin(
            "RunGraph", data, lambda done: _settle(answer, registered.fetches, done)
        )
        with self._lock:
            if step in self._running:
                self._running[step] = future
        return answer

    def abort(self, step: int) -> None:
        """Abort a step."""
        with self._lock:
            future = self._running.pop(step, None)
        if future is not None:
            future.cancel()

    def end(self, step: int) -> None:
        """Let the task forget the values of a step that is over in all tasks."""
        self.abort(step)
        request = _messages["CleanupGraphRequest"](step_id=step)
        self._caller.begin("CleanupGraph", request, lambda done: None)

    def close(self) -> None:
        """Release the session's state in the task."""
        parts, self._parts = self._parts, {}
        for part in parts.values():
            request = _messages["DeregisterGraphRequest"](
                session_handle=self._handle,
                create_worker_session_called=self._own_session,
                graph_handle=part.handle,
            )
            self._caller.begin("DeregisterGraph", request, lambda done: None)
        if self._own_session:
            request = _messages["DeleteWorkerSessionRequest"](session_handle=self._handle)
            self._caller.begin("DeleteWorkerSession", request, lambda done: None)


def _settle(answer: Answer, keys: Sequence[str], future: Any) -> None:
    if future.cancelled():
        answer.settle(None, [], errors.CancelledError(None, None, "Step was cancelled"))
        return
    failure = future.exception()
    if failure is not None:
        answer.settle(None, [], as_error(failure))
        return
    try:
        kind: Any = _messages["RunGraphResponse"]
        response, found = tensor_coding.parsed(kind, 1, future.result())
        if response.status_code:
            message = response.status_error_message
            named = _NODE.search(message)
            kind = errors.exception_type_from_error_code(response.status_code)
            raise kind(None, named[1] if named else None, message)
        tensors = [tensor_coding.array_of(found[key]) for key in keys if key in found]
        if len(tensors) != len(keys):
            raise errors.internal("A task has left out values that were asked for")
        metadata = RunMetadata(step_stats=response.step_stats)
        answer.settle(_Ran(metadata), tensors)
    except errors.OpError as error:
        answer.settle(None, [], error)


class _Ran(NamedTuple):
    """The content of an answer; see the message `Ran`."""

    metadata: Any


def _client(node: Any, key: str, device: str, incarnation: int) -> str:
    """Make a node one for a value of the client; return the key of the value."""
    attrs = {
        "tensor_name": key.encode(),
        "send_device": device.encode(),
        "recv_device": device.encode(),
        "send_device_incarnation": signed(incarnation),
    }
    for name in ("tensor_name", "send_device", "recv_device"):
        node.attr[name].s = attrs[name]
    node.attr["send_device_incarnation"].i = attrs["send_device_incarnation"]
    node.attr["client_terminated"].b = True
    return rendezvous_key(attrs)


def signed(number: int) -> int:
    """Return an unsigned number of 64 bits as attributes hold it."""
    return number - (1 << 64) if number >> 63 else number


def _renamed(graph_def: Any, number: int) -> Any:
    """Return a part whose `_Send` and `_Recv` have names of their own.

    Tasks keep their kernels by session and name, as they do those of all operations with state.
    """
    graph = GraphDef()
    graph.CopyFrom(graph_def)
    names = {n.name: f"{n.name}_{number}" for n in graph.node if n.op in CROSSINGS}
    for node in graph.node:
        node.name = names.get(node.name, node.name)
        if node.op in CROSSINGS:
            node.attr["client_terminated"].b = False
        for place, text in enumerate(node.input):
            mark = "^" if text.startswith("^") else ""
            name, colon, index = text.lstrip("^").partition(":")
            if name in names:
                node.input[place] = f"{mark}{names[name]}{colon}{index}"
    return graph


def clear(address: str, containers: Sequence[str]) -> None:
    """Has the task at an address forget the state in some containers, or all."""
    caller(address, WORKER).ask("CleanupAll", _messages["CleanupAllRequest"](container=containers))
