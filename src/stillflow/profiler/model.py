"""All operations of a graph, with data of traced runs and logs of operations."""

from __future__ import annotations

import sys
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.profiler.measures import Measured
from stillflow.profiler.op_log import merged

# Of traced runs only, and of no operation: a name, or a part of one.
_NO_OPERATIONS = ("RecvTensor", "_SOURCE")
_COPY = "MEMCPY"


class Model:
    """Operations and their measures, by name.

    Args:
      graph: the graph; None if there is none yet.
      log: an `OpLogProto` with marks and counts, or None.

    Attributes:
      steps: numbers of the traced runs.
      has_trace: whether lines of the program are known.
      words: what files and functions of traces are called, by their numbers.
    """

    def __init__(self, graph: Graph | None, log: Any = None) -> None:
        self._items: dict[str, Measured] = {}
        self.steps: set[int] = set()
        self.has_trace = False
        self.words: dict[int, str] = {}
        if graph is not None:
            print("Parsing Inputs...")
            self.add_graph(graph)
        if log is not None:
            self.add_log(log)

    def items(self) -> list[Measured]:
        """Return the operations, by name."""
        return [self._items[name] for name in sorted(self._items)]

    def number_of(self, name: str) -> int:
        """Return the number of an operation."""
        return self._items[name].number

    def input_shapes(self, item: Measured) -> dict[int, list[int]]:
        """Return {number of an input: its shape}; unknown shapes are empty."""
        found = {}
        for number, name in item.inputs.items():
            source = self._items.get(name)
            shapes = source.output_shapes if source is not None else {}
            found[number] = shapes.get(item.sources[name], [])
        return found

    def add_graph(self, graph: Graph) -> None:
        """Add operations that are not there yet."""
        for node in graph.as_graph_def(add_shapes=True).node:
            if node.name not in self._items:
                self.add(_of_node(node))

    def add(self, item: Measured) -> Measured:
        """Add an operation, and numbers it."""
        item.number = len(self._items)
        self._items[item.name] = item
        return item

    def add_run(self, step: int, metadata: Any) -> None:
        """Add the `RunMetadata` of a traced step."""
        if not metadata.HasField("step_stats"):
            print(f"Invalid RunMetadata for step {step}", file=sys.stderr)
            return
        self.steps.add(step)
        devices = [(stats.device.lower(), stats) for stats in metadata.step_stats.dev_stats]
        streams = any("stream:all" in device for device, _ in devices)
        for device, stats in devices:
            for node in stats.node_stats:
                name = node.node_name.partition(":")[0]
                item = self._items.get(name)
                if item is None:
                    if name in _NO_OPERATIONS or _COPY in name:
                        continue
                    item = self.add(Measured(name, name, types={name}))
                item.add_run(step, device, node, streams)

    def add_log(self, log: Any) -> None:
        """Add an `OpLogProto`'s data of operations."""
        for number, word in log.id_to_string.items():
            self.words.setdefault(number, word)
        for entry in log.log_entries:
            item = self._items.get(entry.name)
            if item is None:
                continue
            item.types.update(entry.types)
            item.float_ops = entry.float_ops or item.float_ops
            if entry.HasField("code_def"):
                self.has_trace = True
                item.trace = item.trace or list(entry.code_def.traces)


def model_of(graph: Graph, run_meta: Any, op_log: Any, add_trace: bool) -> Model:
    """Return the operations of a graph and of at most one traced run.

    Shapes that the run, a `RunMetadata`, found become known to the graph. An `OpLogProto` has more
    marks and counts; `add_trace` adds the lines that made the operations.
    """
    log = merged(graph, op_log, run_meta, add_trace)
    model = Model(graph)
    if run_meta is not None and run_meta.HasField("step_stats"):
        model.add_run(0, run_meta)
    model.add_log(log)
    return model


def _of_node(node: Any) -> Measured:
    item = Measured(node.name, node.op, types={node.op}, attrs=node.attr)
    if "shape" in node.attr and node.attr["shape"].HasField("shape"):
        item.shape = _dims(node.attr["shape"].shape)
    if "_output_shapes" in node.attr:
        shapes = node.attr["_output_shapes"].list.shape
        item.output_shapes = {index: _dims(shape) for index, shape in enumerate(shapes)}
    for index, text in enumerate(node.input):
        name, _, output = text.lstrip("^").partition(":")
        item.inputs[index] = name
        item.sources[name] = int(output or 0)
    return item


def _dims(shape: Any) -> list[int]:
    if not shape.dim and not shape.unknown_rank:
        return [1]
    return [dim.size for dim in shape.dim]
