"""Measures of each operation, from the graph and from traced runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from stillflow.protos import ExecMemory

# The measures of an operation, by the names of their fields in messages.
NAMES = (
    "run_count", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes",
    "peak_bytes", "residual_bytes", "output_bytes", "parameters", "float_ops",
)  # fmt: skip
_BYTES = NAMES[4:8]
# Of the names of a traced run's devices, those that operations are placed on.
_DEVICE = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu|device:sycl):\d+")


def is_accelerator(device: str) -> bool:
    """Return True if a device, in lower case, is none of the host's."""
    return "gpu" in device or "sycl" in device


class Execution:
    """Cost of an operation in a step, which may have run more than once.

    Attributes:
      started, ended: when it first began and last ended, in microseconds; 0 if it did not run.
      times: {device: (start, duration) of each run, in microseconds}.
      accelerators: of these devices, those whose time is not the processor's.
      memories: an `ExecMemory` of each run.
      devices: all that speak of the operation.
    """

    def __init__(self) -> None:
        self.started = self.ended = self.run_count = 0
        self.times: dict[str, list[tuple[int, int]]] = {}
        self.accelerators: set[str] = set()
        self.memories: list[Any] = []
        self.devices: set[str] = set()

    def add_time(self, device: str, stats: Any, streams: bool) -> None:
        """Add a run, of a `NodeExecStats`.

        Args:
          device: where it ran, in lower case.
          stats: the message.
          streams: whether accelerators' times stand under devices of their own.
        """
        self.devices.add(device)
        start = stats.all_start_micros
        if start <= 0:
            return
        duration = stats.op_end_rel_micros or 1
        self.started = min(self.started or start, start)
        self.ended = max(self.ended, start + duration)
        is_stream, is_device = "stream:all" in device, _DEVICE.fullmatch(device) is not None
        if is_stream or is_device:
            self.times.setdefault(device, []).append((start, duration))
        if is_stream or (is_device and is_accelerator(device) and not streams):
            self.accelerators.add(device)
        self.run_count += is_device

    def add_memory(self, device: str, stats: Any) -> None:
        """Add the memory of a run, from a `NodeExecStats`."""
        if stats.all_start_micros <= 0:
            return
        made = ExecMemory(memory_micros=stats.all_start_micros + stats.op_end_rel_micros)
        for output in stats.output:
            described = output.tensor_description.allocation_description
            if output.tensor_description.HasField("allocation_description"):
                size = max(described.allocated_bytes, described.requested_bytes)
                made.output_bytes += size
                made.output_memory[output.slot].ptr = described.ptr
                made.output_memory[output.slot].bytes = size
        where = "host" if "cpu" in device else "accelerator"
        lasting = stats.memory_stats.persistent_memory_size
        passing = stats.memory_stats.temp_memory_size
        setattr(made, f"{where}_persistent_bytes", lasting)
        setattr(made, f"{where}_temp_bytes", passing)
        made.requested_bytes = sum(used.total_bytes for used in stats.memory) + lasting + passing
        made.peak_bytes = sum(used.peak_bytes for used in stats.memory) + lasting + passing
        made.residual_bytes = sum(used.live_bytes for used in stats.memory) + lasting
        if not stats.memory and not stats.HasField("memory_stats"):
            # Without an allocator's record, the requested size is that of the output.
            made.requested_bytes = made.peak_bytes = made.residual_bytes = made.output_bytes
        self.memories.append(made)

    def amounts(self) -> Counter[str]:
        """Return the measures."""
        found: Counter[str] = Counter(run_count=self.run_count)
        for device, times in self.times.items():
            spent = sum(duration for _, duration in times)
            found["exec_micros"] += spent
            kind = "accelerator" if device in self.accelerators else "cpu"
            found[f"{kind}_exec_micros"] += spent
        for name in _BYTES:
            found[name] = sum(getattr(memory, name) for memory in self.memories)
        return found


@dataclass
class Measured:
    """An operation and its measures.

    Attributes:
      name, op_type: of the operation; that of a scope says so.
      number: of the operation, in the order of the graph; negative for scopes.
      types: its type, device and marks, which accounting goes by.
      device: where it ran, in lower case; empty if nothing says.
      shape: what its `shape` attribute says, [1] for that of a scalar; empty if it has none.
      inputs: {number of an input: name of the operation that it comes from}.
      sources: {name of such an operation: which of its outputs}.
      output_shapes: {number of an output: its shape}, as `shape`, -1 where it is not known.
      attrs: the attributes, as in a `NodeDef`.
      float_ops: of one run.
      trace: the `CodeDef.Trace` messages of the calls that made it, outermost first.
      executions: {step: what it spent}.
    """

    name: str
    op_type: str = ""
    number: int = -1
    types: set[str] = field(default_factory=set)
    device: str = ""
    shape: list[int] = field(default_factory=list)
    inputs: dict[int, str] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    output_shapes: dict[int, list[int]] = field(default_factory=dict)
    attrs: Any = None
    float_ops: int = 0
    trace: list[Any] = field(default_factory=list)
    executions: dict[int, Execution] = field(default_factory=dict)

    def at(self, step: int) -> Counter[str]:
        """Return the measures of a step; the mean of all steps if it is negative."""
        runs: Iterable[Execution] = self.executions.values()
        if step >= 0:
            runs = [self.executions[step]] if step in self.executions else []
        amounts = [run.amounts() for run in runs]
        own = Counter({
            name: sum(amount[name] for amount in amounts) // (len(amounts) or 1)
            for name in NAMES[:8]
        })  # fmt: skip
        if self.shape and min(self.shape) >= 0:
            own["parameters"] = prod(self.shape)
        own["float_ops"] = self.float_ops * (own["run_count"] if self.executions else 1)
        return own

    def add_run(self, step: int, device: str, stats: Any, streams: bool) -> None:
        """Add a run, as `Execution.add_time` says; one on a second device is left out."""
        if _DEVICE.fullmatch(device):
            if self.device not in ("", device):
                return
            self.device = device
            self.types.add(device)
        spent = self.executions.setdefault(step, Execution())
        spent.add_time(device, stats, streams)
        if device == self.device:
            spent.add_memory(device, stats)
