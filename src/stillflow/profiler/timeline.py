"""Traces of runs for the viewer of Chrome, `chrome://tracing`."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")


class AllocationMaximum(NamedTuple):
    """The most memory that an allocator gave out: when, how much, for which tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class StepStatsAnalysis(NamedTuple):
    """A trace, and the `AllocationMaximum` of each allocator by name."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class ChromeTrace:
    """Events in the format of the viewer."""

    def __init__(self) -> None:
        self.names: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def name_process(self, name: str, pid: int) -> None:
        self.names.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def add(
        self, kind: str, category: str, name: str, pid: int, tid: int, time: int, **more: Any
    ) -> None:
        """Add an event of a kind ("X" is a region, "s" and "t" are the ends of an arrow, ...)."""
        self.events.append(
            {"ph": kind, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": time, **more}
        )

    def format_to_string(self, pretty: bool = False) -> str:
        """Return the events as JSON text."""
        trace = {"traceEvents": self.names + self.events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


@dataclass
class _Tensor:
    """The life of an output: made when its operation starts, gone after its last use."""

    number: int
    pid: int
    start: int
    size: int
    allocator: str
    source: tuple[int, int, int]  # time, pid and tid of where it comes from
    last_use: int = 0


@dataclass
class _Pids:
    """Numbers of the processes that the viewer shows."""

    numbers: Any = field(default_factory=itertools.count)
    compute: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, int] = field(default_factory=dict)
    allocators: int = 0


class Timeline:
    """Timeline of a traced run.

    Args:
      step_stats: the `StepStats` of its `RunMetadata`.
      graph: has no effect.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        del graph
        self._stats = step_stats
        self._trace = ChromeTrace()
        self._pids = _Pids()
        self._tensors: dict[str, _Tensor] = {}
        self._flows = itertools.count()

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Return the trace as JSON text.

        Args:
          show_dataflow: whether arrows lead from operations to those that use their outputs.
          show_memory: whether tensors and the memory given out are shown too.
        """
        return self.analyze_step_stats(show_dataflow, show_memory).chrome_trace.format_to_string(
            pretty=True
        )

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True
    ) -> StepStatsAnalysis:
        """Return the trace, and how much memory was given out at most."""
        self._name_processes()
        ran = [
            (stats.device, node, lane)
            for stats in self._stats.dev_stats
            for node, lane in zip(stats.node_stats, _lanes(stats.node_stats), strict=True)
        ]
        for device, node, lane in ran:
            self._take_outputs(device, node, lane, show_memory)
        for device, node, lane in ran:
            self._show_operation(device, node, lane, show_dataflow)
        maximums = self._show_memory() if show_memory else {}
        return StepStatsAnalysis(self._trace, maximums)

    def _name_processes(self) -> None:
        pids = self._pids
        pids.allocators = next(pids.numbers)
        self._trace.name_process("Allocators", pids.allocators)
        for stats in self._stats.dev_stats:
            for what, table in (("Compute", pids.compute), ("Tensors", pids.tensors)):
                table[stats.device] = next(pids.numbers)
                self._trace.name_process(f"{stats.device} {what}", table[stats.device])

    def _take_outputs(self, device: str, node: Any, lane: int, show: bool) -> None:
        start, end = _span(node)
        pid = self._pids.tensors[device]
        for slot, output in enumerate(node.output):
            name = f"{node.node_name}:{slot}" if slot else node.node_name
            memory = output.tensor_description.allocation_description
            source = (end, self._pids.compute[device], lane)
            tensor = self._tensors[name] = _Tensor(
                len(self._tensors), pid, start, memory.requested_bytes, memory.allocator_name,
                source, end,
            )  # fmt: skip
            if show:
                text = str(output.tensor_description).replace('"', "")
                snapshot = {"snapshot": {"tensor_description": text}}
                self._trace.add("N", "Tensor", name, pid, lane, start, id=tensor.number)
                self._trace.add(
                    "O", "Tensor", name, pid, lane, end - 1, id=tensor.number, args=snapshot
                )

    def _show_operation(self, device: str, node: Any, lane: int, arrows: bool) -> None:
        start, end = _span(node)
        pid = self._pids.compute[device]
        name, op, inputs = _described(device, node)
        args = {"name": name, "op": op}
        args.update((f"input{index}", source) for index, source in enumerate(inputs))
        self._trace.add("X", "Op", op, pid, lane, start, dur=end - start, args=args)
        for source in inputs:
            if source not in self._tensors:  # a transfer between devices has a number added
                source = source.rpartition("/_")[0] or source
            tensor = self._tensors.get(source)
            if tensor is None:
                continue
            tensor.last_use = max(tensor.last_use, end - 1)
            made, source_pid, source_lane = tensor.source
            if arrows and (source_pid, source_lane) != (pid, lane):
                number = next(self._flows)
                self._trace.add("s", "DataFlow", source, source_pid, source_lane, made, id=number)
                self._trace.add("t", "DataFlow", source, pid, lane, start, id=number)

    def _show_memory(self) -> dict[str, AllocationMaximum]:
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for name, tensor in self._tensors.items():
            self._trace.add("D", "Tensor", name, tensor.pid, 0, tensor.last_use, id=tensor.number)
            of_allocator = changes.setdefault(tensor.allocator, [])
            of_allocator.append((tensor.start, tensor.size, name))
            of_allocator.append((tensor.last_use, -tensor.size, name))
        return {name: self._show_allocator(name, found) for name, found in changes.items()}

    def _show_allocator(
        self, allocator: str, changes: list[tuple[int, int, str]]
    ) -> AllocationMaximum:
        maximum = AllocationMaximum(0, 0, set())
        total = 0
        there: set[str] = set()
        for time, size, name in sorted(changes):
            total += size
            if size < 0:
                there.discard(name)
            else:
                there.add(name)
            if total > maximum.num_bytes:
                maximum = AllocationMaximum(time, total, set(there))
            self._trace.add(
                "C", "Memory", allocator, self._pids.allocators, 0, time, args={allocator: total}
            )
        return maximum


def _span(node: Any) -> tuple[int, int]:
    start = node.all_start_micros
    return start, start + node.all_end_rel_micros


def _lanes(nodes: Any) -> list[int]:
    """Return for each operation a row of the viewer that is free at the time."""
    free = [0]
    lanes = []
    for node in nodes:
        start, end = _span(node)
        lane = next((index for index, time in enumerate(free) if start > time), len(free))
        if lane == len(free):
            free.append(0)
        free[lane] = end
        lanes.append(lane)
    return lanes


def _described(device: str, node: Any) -> tuple[str, str, list[str]]:
    """Return the name, the type and the inputs of an operation, as far as its statistics tell."""
    if "/stream:" in device or "/memcpy" in device:  # of a GPU's own tracer: "name:op"
        name, op = [*node.node_name.split(":"), "unknown"][:2]
        return name, op, []
    if node.node_name == "RecvTensor":
        return node.node_name, node.node_name, []
    match = _LABEL.match(node.timeline_label)
    if match is None:
        return node.node_name, "unknown", []
    inputs = match.group(3)
    return node.node_name, match.group(2), inputs.split(", ") if inputs else []
