"""`RunMetadata` of a traced `Session.run`."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.devices.placement import Placement
from stillflow.runtime.ir.request import PlanRequest
from stillflow.runtime.plan.cache import PlanCaches
from stillflow.runtime.plan.plan import make_plan
from stillflow.runtime.plan.shape_policy import Shapes
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.runtime.tracing.recorder import Recorder, Run, traced_emitter

_MOST = 256  # messages kept to be filled with other times
_LARGEST = 1024  # nodes of such a message: loops run as often as they like


class Stats:
    """The `StepStats` of traced runs: for each device, when its operations ran.

    Args:
      placement: where operations are.
    """

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._lock = threading.Lock()
        # The constant part of runs of some operations with some outputs: all but the times.
        self._messages: dict[Any, tuple[Any, list[Any]]] = {}

    def fill(self, message: Any, runs: Sequence[Run]) -> None:
        """Make `message` that of a run.

        Args:
          message: a `StepStats`.
          runs: the steps.
        """
        key = tuple([(run.op, run.outputs) for run in runs])
        with self._lock:
            found = self._messages.get(key)
            if found is None:
                if len(self._messages) == _MOST:  # shapes that change from run to run
                    self._messages.clear()
                found = self._made(runs)
                if len(runs) <= _LARGEST:
                    self._messages[key] = found
            stats, nodes = found
            _set_times(nodes, runs)
            message.CopyFrom(stats)

    def _made(self, runs: Sequence[Run]) -> tuple[Any, list[Any]]:
        from stillflow.protos import StepStats

        message = StepStats()
        first = self._placement.devices()[0]
        by_device = {first: message.dev_stats.add(device=first).node_stats}
        nodes = []
        for run in runs:
            device = self._placement.device_of(run.op)
            there = by_device.get(device)
            if there is None:
                there = by_device[device] = message.dev_stats.add(device=device).node_stats
            nodes.append(there.add())
            _describe(nodes[-1], run)
        return message, nodes


def _set_times(nodes: Sequence[Any], runs: Sequence[Run]) -> None:
    # Runs are timed by a clock that starts anywhere; the message wants the time of day.
    offset = time.time_ns() - time.perf_counter_ns()
    thread = threading.get_ident() & 0x7FFFFFFF
    for stats, run in zip(nodes, runs, strict=True):
        start, length = run.start + offset, run.end - run.start
        stats.scheduled_micros = stats.all_start_micros = start // 1000
        stats.scheduled_nanos = stats.all_start_nanos = start
        stats.op_end_rel_micros = stats.all_end_rel_micros = max(1, length // 1000)
        stats.op_end_rel_nanos = stats.all_end_rel_nanos = length
        stats.thread_id = thread
        for memory in stats.memory:
            memory.allocation_records[0].alloc_micros = start // 1000


def _describe(stats: Any, run: Run) -> None:
    """Fill in the `NodeExecStats` of a step, less the times."""
    stats.node_name = run.op.name
    inputs = ", ".join(tensor._as_node_def_input() for tensor in run.op._inputs)
    stats.timeline_label = f"{run.op.name} = {run.op.type}({inputs})"
    for slot, output in enumerate(run.outputs):
        if output is None:
            continue
        kind, shape, size, allocator = output
        described = stats.output.add(slot=slot).tensor_description
        _set_type(described, kind, shape)
        described.allocation_description.requested_bytes = size
        described.allocation_description.allocated_bytes = size
        described.allocation_description.allocator_name = allocator
    stats.memory_stats.SetInParent()
    for allocator, size in _made_by(run).items():
        memory = stats.memory.add(allocator_name=allocator, total_bytes=size, peak_bytes=size)
        memory.live_bytes = size
        memory.allocation_records.add(alloc_bytes=size)


def _set_type(message: Any, kind: str, shape: Sequence[int]) -> None:
    message.dtype = dtypes.as_dtype(kind).as_datatype_enum
    message.shape.SetInParent()
    for dim in shape:
        message.shape.dim.add(size=dim)


def _made_by(run: Run) -> dict[str, int]:
    """Return the bytes of an operation's results, without its inputs' memory, by allocator."""
    made: dict[str, int] = defaultdict(int)
    for tensor, output in zip(run.op._outputs, run.outputs, strict=False):
        if output is not None and not run.op.card.view and not tensor.dtype._is_ref_dtype:
            _, _, size, allocator = output
            made[allocator] += size
    return {allocator: size for allocator, size in made.items() if size}


def partition_graphs(
    placement: Placement,
    tensors: Sequence[Tensor],
    targets: Sequence[Operation],
    fed: Sequence[Tensor],
    with_fed: bool = False,
) -> list[Any]:
    """Return the graph of a run, as a `GraphDef` for each device.

    Edges between devices stay unchanged: values are passed without send and receive operations.
    `with_fed` adds the operations of fed tensors, though they do not run.
    """
    from stillflow.graph.graphdef import fill_node
    from stillflow.protos import GraphDef

    parts: dict[str, Any] = {}
    needed = needed_ops(tensors, targets, fed)
    if with_fed:
        needed = [*dict.fromkeys([*(tensor.op for tensor in fed), *needed])]
    for op in needed:
        device = placement.device_of(op)
        part = parts.get(device)
        if part is None:
            part = parts[device] = GraphDef()
            part.versions.CopyFrom(op.graph.graph_def_versions)
        node = part.node.add()
        fill_node(node, op)
        node.device = device
    return list(parts.values())


def cost_graph(runs: Sequence[Run], placement: Placement) -> Any:
    """Return the `CostGraphDef` of a traced run: its operations' costs, and their results."""
    from stillflow.protos import CostGraphDef

    message = CostGraphDef()
    numbers = {run.op: number for number, run in enumerate(runs)}
    for run in runs:
        node = message.node.add(name=run.op.name, id=numbers[run.op])
        node.device = placement.device_of(run.op)
        node.compute_cost = (run.end - run.start) // 1000
        for tensor in run.op._inputs:
            if tensor.op in numbers:
                source = numbers[tensor.op]
                node.input_info.add(preceding_node=source, preceding_port=tensor.value_index)
        for output in run.outputs:
            info = node.output_info.add()
            if output is None:
                continue
            kind, shape, size, _ = output
            info.size = size
            _set_type(info, kind, shape)
    return message


class TracedRuns:
    """The traced runs of a session.

    Args:
      resources: the session's state.
      placement: where its operations are.
      config: its `ConfigProto`, or None.
      finish: called with fetches, feeds and the error of a run whose input has come to its end.
    """

    def __init__(
        self,
        resources: Resources,
        placement: Placement,
        config: Any,
        finish: Callable[..., None] = lambda *_: None,
    ) -> None:
        self._finish = finish
        self._resources = resources
        self._placement = placement
        options = None if config is None else config.graph_options
        self._cost_every = 0 if options is None else options.build_cost_model
        self._cost_after = 0 if options is None else options.build_cost_model_after
        self._plans: PlanCaches[tuple[Callable[..., Any], Recorder]] = PlanCaches()
        self._counts: dict[Any, int] = defaultdict(int)
        self._stats = Stats(placement)

    def forget(self) -> None:
        """Drop the plans made so far: the graph has changed."""
        self._plans.clear()
        self._stats = Stats(self._placement)

    def run(
        self, run: Any, fetches: Any, feeds: dict[Tensor, Any], options: Any, data: Any
    ) -> list[Any]:
        """Run `fetches` and fill in the metadata that `options` request.

        Args:
          run: a function that gives the values of a plan that is not traced.
          fetches: the fetches.
          feeds: arrays by tensor.
          options: a `RunOptions`, or None.
          data: the `RunMetadata` to fill, or None.
        """
        if data is not None:
            data.Clear()
        wants_costs = self._wants_costs(fetches)
        wants_trace = options is not None and options.trace_level > 0
        if data is None or not (wants_costs or wants_trace):
            values = run()
        else:
            values, runs = self._traced(fetches, feeds)
            if wants_trace:
                self._stats.fill(data.step_stats, runs)
            if wants_costs:
                data.cost_graph.CopyFrom(cost_graph(runs, self._placement))
        if data is not None and options is not None and options.output_partition_graphs:
            data.partition_graphs.extend(
                partition_graphs(self._placement, fetches.tensors, fetches.targets, list(feeds))
            )
        return values

    def _wants_costs(self, fetches: Any) -> bool:
        """Return True if this run is to measure the costs of operations."""
        if not self._cost_every:
            return False
        count = self._counts[fetches] - self._cost_after
        self._counts[fetches] += 1
        return count >= 0 and (count + 1) % self._cost_every == 0

    def _traced(self, fetches: Any, feeds: dict[Tensor, Any]) -> tuple[Any, list[Run]]:
        def make(shapes: Shapes) -> tuple[Callable[..., Any], Recorder]:
            recorder = Recorder()
            dims = dict(zip(feeds, shapes, strict=True))
            request = PlanRequest(
                fetches.tensors, fetches.targets, dims, emitter=traced_emitter(recorder)
            )
            return make_plan(self._resources, request), recorder

        shapes = tuple(array.shape for array in feeds.values())
        plan, recorder = self._plans.get((fetches, *feeds), shapes, make)
        try:
            return recorder.take(plan, list(feeds.values()))
        except errors.OutOfRangeError as error:
            self._finish(fetches, feeds, error)
            raise
