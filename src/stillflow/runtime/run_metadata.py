"""`RunMetadata`: what a traced `Session.run` tells of itself."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import torch

from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.emit import Emitter
from stillflow.runtime.placement import Placement
from stillflow.runtime.plan import make_plan
from stillflow.runtime.prune import needed_ops
from stillflow.runtime.resources import Resources
from stillflow.runtime.steps import Step

# Steps that are no work of an operation; values are handed over without any.
_PLUMBING = frozenset({"alias", "flag", "bool", "copy", "move"})
_MOST = 1 << 14  # messages kept to be filled with other times


class Run(NamedTuple):
    """One step of a traced run, times in nanoseconds."""

    op: Operation
    start: int
    end: int
    outputs: tuple[Any, ...]  # (dtype name, shape, bytes, allocator), or None for what is no array


class Recorder:
    """Collects the steps of traced runs, one run at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ops: list[list[Operation]] = []  # of each step: itself, and what was joined with it
        self.runs: list[Run] = []

    def add(self, number: int, start: int, end: int, outputs: tuple[Any, ...]) -> None:
        described = tuple(_describe(value) for value in outputs)
        first, *others = self.ops[number]
        share = (end - start) // (1 + len(others))  # nobody knows what each of them took
        if self.runs and self.runs[-1].op is first:  # the host's part came before
            start = self.runs.pop().start
        done = end - share * len(others)
        self.runs.append(Run(first, start, done, described))
        for op in others:
            self.runs.append(Run(op, done, done + share, ()))
            done += share

    def take(self, plan: Callable[..., Any], values: Sequence[Any]) -> tuple[Any, list[Run]]:
        """Runs a traced plan; gives its results and its steps."""
        with self.lock:
            self.runs = []
            return plan(*values), self.runs


def traced_emitter(recorder: Recorder) -> type[Emitter]:
    """The kind of `Emitter` whose plans tell `recorder` when each step began and ended."""

    class Traced(Emitter):
        beside = False

        @cached_property
        def called(self) -> set[Operation | None]:
            return {step.op for step in self.steps if step.kind == "call"}

        def step(self, step: Step) -> None:
            reads_its_own = step.kind == "read" and step.op in self.called
            if step.op is None or step.kind in _PLUMBING or reads_its_own:
                super().step(step)
                return
            self.globals.update(_now=_now, _record=recorder.add)
            number = len(recorder.ops)
            recorder.ops.append([step.op, *step.joined])
            self.line(step.guard, "_start = _now()", step.op)
            super().step(step)
            outputs = "".join(f"{name}, " for name in step.outputs)
            self.line(step.guard, f"_record({number}, _start, _now(), ({outputs}))", step.op)

    return Traced


def _now() -> int:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter_ns()


@cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _describe(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        allocator = "cpu" if value.is_cpu else f"GPU_{value.device.index or 0}_bfc"
        return _name(value.dtype), value.shape, value.nbytes, allocator
    if hasattr(value, "shape") and hasattr(value, "nbytes"):
        return "string", tuple(value.shape), int(value.nbytes), "cpu"
    return None


def step_stats(
    runs: Sequence[Run], placement: Placement, templates: dict[Any, tuple[str, Any]]
) -> Any:
    """The `StepStats` of a traced run: for each device, when its operations ran.

    Args:
      runs: the steps.
      placement: where operations are.
      templates: what is known of such steps already, {(operation, outputs): (device, message)};
        grows.
    """
    from stillflow.protos import StepStats

    message = StepStats()
    if len(templates) > _MOST:  # shapes that change from run to run
        templates.clear()
    # Runs are timed by a clock that starts anywhere; the message wants the time of day.
    offset = time.time_ns() - time.perf_counter_ns()
    thread = threading.get_ident() & 0x7FFFFFFF
    first = placement.devices()[0]
    by_device = {first: message.dev_stats.add(device=first).node_stats}
    for run in runs:
        key = run.op, run.outputs
        if key not in templates:
            templates[key] = placement.device_of(run.op), _template(run)
        device, template = templates[key]
        there = by_device.get(device)
        if there is None:
            there = by_device[device] = message.dev_stats.add(device=device).node_stats
        stats = there.add()
        stats.MergeFrom(template)
        start, length = run.start + offset, run.end - run.start
        stats.scheduled_micros = stats.all_start_micros = start // 1000
        stats.scheduled_nanos = stats.all_start_nanos = start
        stats.op_end_rel_micros = stats.all_end_rel_micros = max(1, length // 1000)
        stats.op_end_rel_nanos = stats.all_end_rel_nanos = length
        stats.thread_id = thread
    return message


def _template(run: Run) -> Any:
    """The `NodeExecStats` of a step, less the times: what every such step has in common."""
    from stillflow.protos import NodeExecStats

    stats = NodeExecStats(node_name=run.op.name)
    inputs = ", ".join(tensor._as_node_def_input() for tensor in run.op._inputs)
    stats.timeline_label = f"{run.op.name} = {run.op.type}({inputs})"
    for slot, output in enumerate(run.outputs):
        if output is None:
            continue
        kind, shape, size, allocator = output
        described = stats.output.add(slot=slot).tensor_description
        described.dtype = dtypes.as_dtype(kind).as_datatype_enum
        described.shape.SetInParent()
        for dim in shape:
            described.shape.dim.add(size=dim)
        described.allocation_description.requested_bytes = size
        described.allocation_description.allocator_name = allocator
    return stats


def partition_graphs(
    placement: Placement,
    tensors: Sequence[Tensor],
    targets: Sequence[Operation],
    fed: Sequence[Tensor],
    with_fed: bool = False,
) -> list[Any]:
    """What a run needs of the graph, as a `GraphDef` for each device.

    Edges between devices stay what they are: values are handed over without send and receive
    operations.

    Args:
      placement: where operations are.
      tensors: what is fetched.
      targets: operations that are run.
      fed: what is fed.
      with_fed: whether the operations of fed tensors are part of it, though they do not run.
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
    """The `CostGraphDef` of a traced run: what its operations took, and what they gave."""
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
            info.dtype = dtypes.as_dtype(kind).as_datatype_enum
            info.shape.SetInParent()
            for dim in shape:
                info.shape.dim.add(size=dim)
    return message


class TracedRuns:
    """The traced runs of a session.

    Args:
      resources: the session's state.
      placement: where its operations are.
      config: its `ConfigProto`, or None.
    """

    def __init__(self, resources: Resources, placement: Placement, config: Any) -> None:
        self._resources = resources
        self._placement = placement
        options = None if config is None else config.graph_options
        self._cost_every = 0 if options is None else options.build_cost_model
        self._cost_after = 0 if options is None else options.build_cost_model_after
        self._plans: dict[Any, tuple[Callable[..., Any], Recorder]] = {}
        self._counts: dict[Any, int] = defaultdict(int)
        self._templates: dict[Any, tuple[str, Any]] = {}

    def forget(self) -> None:
        """Drops the plans made so far: the graph has changed."""
        self._plans.clear()
        self._templates.clear()

    def run(self, run: Any, fetches: Any, feeds: dict[Tensor, Any], options: Any, data: Any) -> Any:
        """Runs `fetches` and fills in what `options` ask for.

        Args:
          run: a function that gives the values of a plan that is not traced.
          fetches: what to fetch.
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
                stats = step_stats(runs, self._placement, self._templates)
                data.step_stats.CopyFrom(stats)
            if wants_costs:
                data.cost_graph.CopyFrom(cost_graph(runs, self._placement))
        if data is not None and options is not None and options.output_partition_graphs:
            data.partition_graphs.extend(
                partition_graphs(self._placement, fetches.tensors, fetches.targets, list(feeds))
            )
        return values

    def _wants_costs(self, fetches: Any) -> bool:
        """Whether it is this run's turn to measure what operations cost."""
        if not self._cost_every:
            return False
        count = self._counts[fetches] - self._cost_after
        self._counts[fetches] += 1
        return count >= 0 and (count + 1) % self._cost_every == 0

    def _traced(self, fetches: Any, feeds: dict[Tensor, Any]) -> tuple[Any, list[Run]]:
        key = (fetches, *[(tensor, array.shape) for tensor, array in feeds.items()])
        found = self._plans.get(key)
        if found is None:
            recorder = Recorder()
            dims = {tensor: array.shape for tensor, array in feeds.items()}
            emitter = traced_emitter(recorder)
            plan = make_plan(
                self._resources, fetches.tensors, fetches.targets, dims, emitter=emitter
            )
            found = self._plans[key] = plan, recorder
        plan, recorder = found
        return recorder.take(plan, list(feeds.values()))
