"""What is known of each operation: its own measures, from the graph and from traced runs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation
from stillflow.profiler.flops import UnknownShape
from stillflow.profiler.option_builder import TRAINABLE_VARIABLES
from stillflow.profiler.statistics import flops_of

# The measures of an operation, by the names of their fields in messages.
NAMES = (
    "run_count", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes",
    "peak_bytes", "residual_bytes", "output_bytes", "parameters", "float_ops",
)  # fmt: skip
# Files whose lines are not the program's: this package's and those that start programs.
_NOT_OF_PROGRAM = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "<frozen ")


@dataclass
class Measured:
    """An operation and its measures.

    Attributes:
      name, op_type: of the operation; empty type for a scope.
      types: its type, device and marks, which accounting goes by.
      device: where it ran.
      shape: what its `shape` attribute says, None if it has none.
      input_shapes: {number of an input: its shape, None if it is not known}.
      own: the measures.
      inputs: names of the operations it takes values of.
      trace: (file, line, function) of the calls that made it, outermost first.
    """

    name: str
    op_type: str = ""
    types: set[str] = field(default_factory=set)
    device: str = ""
    shape: list[int] | None = None
    input_shapes: dict[int, list[int] | None] = field(default_factory=dict)
    own: Counter[str] = field(default_factory=Counter)
    inputs: list[str] = field(default_factory=list)
    trace: list[tuple[str, int, str]] = field(default_factory=list)


def measure(graph: Graph, runs: dict[int, Any], op_log: Any = None) -> list[Measured]:
    """Measures the operations of a graph.

    Args:
      graph: the graph.
      runs: {step: `RunMetadata`} of traced runs; times and memory are their mean.
      op_log: an `OpLogProto` with more types and counts, or None.
    """
    trainable = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    found: dict[str, Measured] = {}
    unknown = 0
    for op in graph.get_operations():
        item = found[op.name] = _of_operation(op)
        if op.name in trainable:
            item.types.add(TRAINABLE_VARIABLES)
        try:
            item.own["float_ops"] = flops_of(op)
        except UnknownShape:
            unknown += 1
        except ValueError as error:
            print(f"{op.name}: {error}", file=sys.stderr)
    if unknown and not runs:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    for metadata in runs.values():
        _add_run(found, metadata)
    for item in found.values():
        for name in NAMES[1:8]:
            if runs and item.own["run_count"]:
                item.own[name] //= item.own["run_count"]
    for entry in op_log.log_entries if op_log is not None else ():
        if entry.name in found:
            found[entry.name].types.update(entry.types)
            if entry.float_ops:
                found[entry.name].own["float_ops"] = entry.float_ops
    return list(found.values())


def _of_operation(op: Operation) -> Measured:
    item = Measured(op.name, op.type, {op.type})
    if "shape" in op.node_def.attr:
        shape = op.node_def.attr["shape"].shape
        item.shape = [dim.size for dim in shape.dim]
        if item.shape and min(item.shape) >= 0:
            item.own["parameters"] = prod(item.shape)
    # What an operation waits for counts as an input with the shape of its first output.
    names = [name[1:] for name in op.node_def.input if name.startswith("^")]
    controls = [op.graph.get_operation_by_name(name) for name in names]
    waited = [control.outputs[0] for control in controls if control.outputs]
    for index, tensor in enumerate([*op.inputs, *waited]):
        dims = tensor.get_shape()
        item.input_shapes[index] = dims.as_list() or [1] if dims.is_fully_defined() else None
    item.inputs = [tensor.op.name for tensor in op.inputs]
    item.inputs += names
    item.trace = [
        (frame[0], frame[1], frame[2])
        for frame in op.traceback if not frame[0].startswith(_NOT_OF_PROGRAM)
    ]  # fmt: skip
    return item


def _add_run(found: dict[str, Measured], metadata: Any) -> None:
    for device in metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            item = found.get(stats.node_name.partition(":")[0])
            if item is None:
                continue
            own = item.own
            micros = stats.op_end_rel_micros - stats.op_start_rel_micros
            accelerated = "GPU" in device.device.upper()
            outputs = sum(
                output.tensor_description.allocation_description.requested_bytes
                for output in stats.output
            )
            own["run_count"] += 1
            own["exec_micros"] += micros
            own["accelerator_exec_micros" if accelerated else "cpu_exec_micros"] += micros
            own["output_bytes"] += outputs
            # Without an allocator's record, what came out is what was asked for.
            used = sum(memory.total_bytes for memory in stats.memory) or outputs
            own["requested_bytes"] += used
            own["peak_bytes"] += sum(memory.peak_bytes for memory in stats.memory) or outputs
            own["residual_bytes"] += sum(memory.live_bytes for memory in stats.memory) or outputs
            item.device = device.device
            item.types.add(device.device)
