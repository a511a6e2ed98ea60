"""A session on a server of TensorFlow, which places and partitions its graph by itself."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.graph import Graph
from stillflow.graph.graphdef import fill_library, fill_node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.values import fetch_fed
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.access import RemoteTask, fetched
from stillflow.runtime.cluster.grpc_client import caller
from stillflow.runtime.cluster.grpc_port import MASTER, file
from stillflow.runtime.cluster.master import ClusterPlan, Master
from stillflow.runtime.cluster.plan_by_device import PlanByDevice
from stillflow.runtime.devices.devices import DeviceAttributes
from stillflow.runtime.interrupts import Interrupt
from stillflow.runtime.resources import Resources

_messages = file("tensorflow/core/protobuf/master.proto")
# The node that a message of TensorFlow names, as its own client reads it.
_NODE = re.compile(r"\[\[(?:Node: )?(?:\{\{node )?([^\} ]*)(?:\}\})?\s*")


class TensorFlowMaster:
    """A session of `tensorflow.MasterService`.

    Args:
      target: `grpc://host:port`.
      graph: the graph of the session.
      config: its `ConfigProto`, or None.
    """

    def __init__(self, target: RemoteTask, graph: Graph, config: Any) -> None:
        self._target, self._graph, self._config = target, graph, config
        self._caller = caller(target.address, MASTER)
        self._handle = ""
        self._version = self._sent = 0
        self._lock = threading.RLock()

    def ask(self, method: str, request: Any) -> Any:
        """Call a method, and return its answer.

        Raises:
          tf.errors.OpError: the server's error, with the operation that its message names.
        """
        try:
            return self._caller.ask(method, request)
        except errors.OpError as error:
            raise self._named(error) from None

    def run(self, request: bytes) -> tuple[Any, dict[str, Any]]:
        """Call `RunStep`; return its response, and the values in it by their names."""
        answer = self.ask("RunStep", request)
        response, values = tensor_coding.parsed(_messages["RunStepResponse"], 1, answer)
        if response.status_code:
            kind: Any = errors.exception_type_from_error_code(response.status_code)
            raise self._named(kind(None, None, response.status_error_message))
        return response, values

    def _named(self, error: errors.OpError) -> errors.OpError:
        """Return an error with the operation that its message names."""
        named = _NODE.search(error._message)
        op = self._graph._by_name.get(named[1]) if named else None
        if op is None:
            return error
        kind: Any = type(error)
        found: errors.OpError = kind(op.node_def, op, error._message)
        return found

    def extended(self) -> str:
        """Create the session, or add the new operations to its graph; return its handle."""
        with self._lock:
            operations = self._graph._operations
            count = len(operations)
            if self._handle and count == self._sent:
                return self._handle
            graph_def = self._definition(operations[self._sent : count])
            if self._handle:
                request = _messages["ExtendSessionRequest"](
                    session_handle=self._handle,
                    graph_def=graph_def,
                    current_graph_version=self._version,
                )
                self._version = self.ask("ExtendSession", request).new_graph_version
            else:
                request = _messages["CreateSessionRequest"](
                    graph_def=graph_def, config=self._config, target=self._target.target
                )
                created = self.ask("CreateSession", request)
                self._handle, self._version = created.session_handle, created.graph_version
            self._sent = count
            return self._handle

    def _definition(self, operations: Iterable[Operation]) -> Any:
        from stillflow.protos import GraphDef

        found = GraphDef()
        found.versions.CopyFrom(self._graph.graph_def_versions)
        for op in operations:
            fill_node(found.node.add(), op)
        if self._graph._functions:
            fill_library(found.library, self._graph._functions)
        return found

    def devices(self) -> list[DeviceAttributes]:
        """Return the devices of all tasks, those of the target first."""
        request = _messages["ListDevicesRequest"](session_handle=self._handle or self.extended())
        found = self.ask("ListDevices", request)
        return [
            DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation)
            for d in (*found.local_device, *found.remote_device)
        ]

    def close(self) -> None:
        """Close the session."""
        with self._lock:
            handle, self._handle = self._handle, ""
        if handle:
            self.ask("CloseSession", _messages["CloseSessionRequest"](session_handle=handle))

    def plan(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor]
    ) -> RemotePlan:
        """Return the plan of a run."""
        return RemotePlan(self, tensors, targets, fed)


def reset(target: RemoteTask, containers: Sequence[str]) -> None:
    """Forget containers, all if there are none, of a cluster of TensorFlow; end its sessions."""
    caller(target.address, MASTER).ask("Reset", _messages["ResetRequest"](container=containers))


class RemotePlan:
    """One `Session.run` signature, done by a server of TensorFlow.

    Args:
      master: the session there.
      tensors: the fetches.
      targets: operations that run.
      fed: the feeds, in order.
    """

    def __init__(
        self, master: TensorFlowMaster, tensors: Sequence[Tensor], targets: Sequence[Operation],
        fed: Sequence[Tensor],
    ) -> None:  # fmt: skip
        self._master, self._tensors, self._fed = master, tensors, fed
        self._targets = [op.name for op in targets]

    def run(self, session: Interrupt, *arrays: np.ndarray) -> list[Any]:
        """Run; `session` ends with the session there."""
        del session
        return self._step(self._fed, arrays, self._tensors)

    def traced(
        self, session: Interrupt, arrays: Iterable[np.ndarray], options: Any, metadata: Any
    ) -> list[Any]:
        """Run as a `RunOptions` message (or None) says; fill in a `RunMetadata`, if any."""
        del session
        return self._step(self._fed, arrays, self._tensors, metadata, options=options)

    def partial_run(self, runs: dict[Any, Any]) -> str:
        """Set up a run in steps, add it to `runs`, and return its handle."""
        request = _messages["PartialRunSetupRequest"](
            session_handle=self._master.extended(),
            feed=[tensor.name for tensor in self._fed],
            fetch=[tensor.name for tensor in self._tensors],
            target=self._targets,
        )
        handle: str = self._master.ask("PartialRunSetup", request).partial_run_handle
        runs[handle] = RemotePartialRun(self, handle, len({*self._fed}) + len({*self._tensors}))
        return handle

    def _step(
        self, fed: Iterable[Tensor], arrays: Iterable[np.ndarray], tensors: Sequence[Tensor],
        metadata: Any = None, **fields: Any,
    ) -> list[Any]:  # fmt: skip
        given = dict(zip(fed, arrays, strict=True))
        names = list(dict.fromkeys(tensor.name for tensor in tensors if tensor not in given))
        targets = () if "partial_run_handle" in fields else self._targets
        if not names and not targets and "partial_run_handle" not in fields:
            return [fetch_fed(given[tensor]) for tensor in tensors]
        request = _messages["RunStepRequest"](
            session_handle=self._master.extended(),
            fetch=names,
            target=targets,
            store_errors_in_response_body=True,
            **fields,
        )
        feeds = [tensor_coding.named(2, t.name, array, t.dtype) for t, array in given.items()]
        response, found = self._master.run(tensor_coding.joined(request, feeds))
        if metadata is not None:
            metadata.CopyFrom(response.metadata)
        if found.keys() != {*names}:
            raise errors.internal(f"The server answered with {[*found]} for {names}")
        return [
            fetch_fed(given[t]) if t in given else fetched(t, tensor_coding.array_of(found[t.name]))
            for t in tensors
        ]


class RemotePartialRun:
    """A run in steps, which the server keeps. See `PartialRun`."""

    def __init__(self, plan: RemotePlan, handle: str, left: int) -> None:
        self._plan, self.handle, self._left = plan, handle, left

    @property
    def is_over(self) -> bool:
        """True if all has been fed and fetched."""
        return self._left <= 0

    def run(self, resources: Any, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        """Run the next step."""
        del resources
        if fetches.targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        tensors = fetches.tensors
        found = self._plan._step(feeds, feeds.values(), tensors, partial_run_handle=self.handle)
        self._left -= len(feeds) + len({*tensors})
        return found


SharedPlan = ClusterPlan | PlanByDevice | RemotePlan


class RemoteMaster:
    """A session on a server of another process, of Stillflow or of TensorFlow.

    It asks the server which of them it is, and waits until it is there, at the first use.

    Args:
      target, graph, config, check: as for `Master`.
    """

    def __init__(
        self, target: RemoteTask, graph: Graph, config: Any, check: Callable[[], None]
    ) -> None:
        self._target, self._arguments = target, (graph, config)
        self._check = check
        self._found: Master | TensorFlowMaster | None = None
        self._lock = threading.Lock()

    def _get(self) -> Master | TensorFlowMaster:
        with self._lock:
            if self._found is None:
                if self._target.is_tensorflow:
                    self._found = TensorFlowMaster(self._target, *self._arguments)
                else:
                    self._found = Master(self._target, *self._arguments, self._check)
            return self._found

    def places(self) -> list[DeviceAttributes]:
        """Return the devices on which this process places operations."""
        return self.devices() if isinstance(self._get(), Master) else []

    def devices(self) -> list[DeviceAttributes]:
        """See `Master.devices`."""
        return self._get().devices()

    def resources(self) -> Resources | None:
        """See `Master.resources`."""
        return None

    def close(self) -> None:
        """See `Master.close`."""
        if self._found is not None:
            self._found.close()

    def forget_plans(self) -> None:
        """See `Master.forget_plans`."""
        if isinstance(self._found, Master):
            self._found.forget_plans()

    def plan(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor],
        device_of: Callable[[Operation], str],
    ) -> SharedPlan | None:  # fmt: skip
        """See `Master.plan`."""
        master = self._get()
        if isinstance(master, Master):
            return master.plan(tensors, targets, fed, device_of)
        return master.plan(tensors, targets, fed)

    def at_home(self, plan: Callable[..., list[Any]], session: Interrupt) -> Any:
        """See `Master.at_home`."""
        raise AssertionError("nothing of the cluster is in this process")
