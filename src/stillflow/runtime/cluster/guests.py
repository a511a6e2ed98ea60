"""Sessions as a task knows them: their parts of graphs, and the steps that these take part in."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stillflow.runtime.functions.lowering  # noqa: F401 - registers the lowering of function calls
from stillflow import errors
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import Graph
from stillflow.graph.importer import import_graph_def
from stillflow.ops.send_recv import CROSSINGS
from stillflow.runtime.cluster import metrics, token_crossings, watched_parts  # noqa: F401
from stillflow.runtime.cluster.partition import EFFECT
from stillflow.runtime.cluster.peers import Peers
from stillflow.runtime.cluster.rendezvous import Pull, pulling
from stillflow.runtime.cluster.task_steps import TaskSteps
from stillflow.runtime.devices.devices import DeviceAttributes
from stillflow.runtime.devices.placement import Placement
from stillflow.runtime.plan.cache import PlanCache, Shapes
from stillflow.runtime.resources import Resources
from stillflow.runtime.session.fetches import Fetches

Task = tuple[str, int]  # a job, and which of its tasks


def task_name(task: Task) -> str:
    """Return the task as device strings name it."""
    return f"/job:{task[0]}/replica:0/task:{task[1]}"


class SessionResources(Resources):
    """A session's view of the state of a task; operations' own state is the session's.

    Args:
      shared: the state of the task.
    """

    def __init__(self, shared: Resources) -> None:
        super().__init__(shared.device_of, shared.from_array)
        self._shared = shared
        self.declared_shapes = shared.declared_shapes

    def get(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        return self._shared.get(container, kind, name, create)

    def own(self, container: str, kind: str, name: str, create: Callable[[], Any]) -> Any:
        return super().get(container, kind, name, create)

    def find(self, container: str, kind: str, name: str) -> Any:
        return self._shared.find(container, kind, name)


class _PartOfGraph(Graph):
    """Operations of a larger graph; `states_of` says which, see `own_states`."""

    def __init__(self, states_of: Any) -> None:
        super().__init__()
        self.states_of = states_of


class GuestPart:
    """One part of a session's graph, ready to run.

    Args:
      resources: the session's state in this task.
      graph_def: the part.
      feeds: names of the tensors that are fed, in order.
      fetches: names of the tensors that are given back, in order.
      targets: names of the operations that run.
      states_of: says whose random streams it draws from.
      placement: on the devices of the task.
    """

    def __init__(
        self,
        resources: Resources,
        graph_def: Any,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        states_of: Any,
        placement: Placement,
    ) -> None:
        self._resources = resources
        self._graph = _PartOfGraph(states_of)
        resources.declared_shapes.relied_on_by(self._graph)
        with self._graph.as_default():
            import_graph_def(graph_def, name="")
        element = self._graph.as_graph_element
        self._feeds: list[Any] = [element(f"{name}:0") for name in feeds]
        self._tensors: list[Any] = [element(name, allow_operation=False) for name in fetches]
        self._fetches = Fetches(self._graph, [*self._tensors, *map(element, targets)])
        self._effects = [op for op in self._graph.get_operations() if EFFECT in op.attrs]
        self._plans: PlanCache[Callable[..., list[Any]]] = PlanCache()
        self._edition = self._graph._edition
        self._lock = threading.Lock()
        self._placement = placement
        self._traced: Any = None
        self.crossings = [op for op in self._graph.get_operations() if op.type in CROSSINGS]
        self.pulls: list[Pull] = []

    @property
    def types(self) -> list[DType]:
        """The types of the fetched tensors."""
        return [tensor.dtype for tensor in self._tensors]

    def run(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """Run, and return fetched values."""
        if self._edition != self._graph._edition:
            self._forget_plans()
        shapes = tuple(array.shape for array in arrays)
        plan = self._plans.find(shapes) or self._plans.get(shapes, self._make_plan)
        return self._fetches.build(plan(*arrays))[: len(self._tensors)]

    def traced(self, arrays: Sequence[np.ndarray], options: Any) -> tuple[list[Any], Any]:
        """Run as a `RunOptions` message says; give fetched values, and a `RunMetadata`."""
        from stillflow.protos import RunMetadata
        from stillflow.runtime.tracing.run_metadata import TracedRuns

        feeds = dict(zip(self._feeds, arrays, strict=True))
        if watched_parts.is_watched(options):
            ran = [*self._tensors, *self._fetches.targets, *self._effects]
            values = watched_parts.run(
                self._resources, self._placement, ran, feeds, options.debug_options
            )
            return values[: len(self._tensors)], RunMetadata()
        with self._lock:
            if self._traced is None:
                self._traced = TracedRuns(self._resources, self._placement, None)
        metadata = RunMetadata()
        values = self._traced.run(lambda: self.run(arrays), self._fetches, feeds, options, metadata)
        watched_parts.add_constants(self._graph, metadata.step_stats)
        return self._fetches.build(values)[: len(self._tensors)], metadata

    def _forget_plans(self) -> None:
        """Drop the plans: a variable has left the shape that they rely on."""
        with self._lock:
            self._edition = self._graph._edition
            self._plans.clear()
            if self._traced is not None:
                self._traced.forget()

    def _make_plan(self, shapes: Shapes) -> Callable[..., list[Any]]:
        from stillflow.runtime.plan.plan import PlanRequest, make_plan

        dims = dict(zip(self._feeds, shapes, strict=True))
        tensors, targets = self._fetches.tensors, self._fetches.targets
        request = PlanRequest(tensors, targets, dims, effects=self._effects)
        return make_plan(self._resources, request)


class Guest:
    """A session in one task.

    Args:
      handle: all tasks' name of the session.
      task: which one this is.
      peers: the other tasks.
      devices: of this one.
      resources: the session's state here.
    """

    def __init__(
        self,
        handle: str,
        task: Task,
        peers: Peers,
        devices: list[DeviceAttributes],
        resources: Resources,
    ) -> None:
        self.handle, self.task, self.devices = handle, task, devices
        self.resources = resources
        self.states_of: Any = handle
        self.steps = TaskSteps(self._send, peers.flush)
        self._peers = peers
        self._parts: dict[int, GuestPart] = {}
        self._numbers = itertools.count(1)
        self._placement = Placement(Graph(), None, lambda: devices)
        if not self._placement.is_on_host():
            resources.device_of, resources.several = self._placement.torch_device, True

    def register(
        self, graph_def: Any, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> int:
        """Register a part of the session's graph; return its number.

        Raises:
          tf.errors.InvalidArgumentError: if it is not well formed.
        """
        try:
            part = GuestPart(
                self.resources, graph_def, feeds, fetches, targets, self.states_of, self._placement
            )
        except (ValueError, KeyError, TypeError) as error:
            raise errors.InvalidArgumentError(None, None, f"{error}") from error
        part.pulls = [pull for op in part.crossings if (pull := self._peers.meet(op))]
        number = next(self._numbers)
        self._parts[number] = part
        return number

    def part(self, number: int) -> GuestPart:
        """Return a part that was registered.

        Raises:
          tf.errors.AbortedError: if there is none of that number.
        """
        part = self._parts.get(number)
        if part is None:
            raise errors.AbortedError(
                None, None, f"Graph handle is not found: {number}. Possibly, this worker just "
                "restarted.",
            )  # fmt: skip
        return part

    def run(
        self, part: int, step: int, arrays: Sequence[np.ndarray], options: Any = None
    ) -> tuple[list[Any], Any]:
        """Take part in a step, in this thread.

        Args:
          part: the number of the part.
          step: the number of the step.
          arrays: the feeds.
          options: a `RunOptions` if it is to be traced.

        Returns:
          Fetched values; and the `RunMetadata` of a traced run, else None.

        Raises:
          tf.errors.OpError: if an operation fails, or the step is ended early.
        """
        shown = metrics.shown
        if shown is None:
            return self._run(self.part(part), step, arrays, options)
        with shown.step(task_name(self.task)):
            return self._run(self.part(part), step, arrays, options)

    def _run(
        self, found: GuestPart, step: int, arrays: Sequence[np.ndarray], options: Any
    ) -> tuple[list[Any], Any]:
        try:
            with self.steps.taking_part(step) as there, pulling(found.pulls, step, there):
                if options is None:
                    return found.run(arrays), None
                return found.traced(arrays, options)
        except BaseException:
            self._peers.end(step)
            raise

    def abort(self, step: int) -> None:
        """Abort a step, and forget its values for other tasks."""
        self.steps.abort(step)
        self._peers.end(step)

    def arrive(self, step: int, key: str, value: Any) -> None:
        """Receive a tensor from another task for a step."""
        there = self.steps.get(step)
        if there is not None:
            there.put(key, value)

    def _send(self, step: int, device: str, key: str, dtype: DType, value: Any, more: bool) -> None:
        name = self._peers.send(self.handle, step, device, key, dtype, value, more)
        if metrics.shown is not None:
            metrics.shown.sent(value)
        if name is not None:
            self.arrive(step, name, value)

    def close(self) -> None:
        """Stop running steps, and release the session's own state."""
        self.resources.close()
        self._parts.clear()
