"""tf.profiler.write_op_log: counts, lines and marks of operations, from a graph."""

from __future__ import annotations

import os
import sys
from typing import Any

from stillflow._home import FOLDERS
from stillflow.files.gfile import write_string_to_file
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_shape import TensorShape
from stillflow.profiler.option_builder import TRAINABLE_VARIABLES
from stillflow.profiler.statistics import flops_of
from stillflow.protos import OpLogEntry, OpLogProto

# Files whose lines are not the program's: this package's and those that start programs.
_NOT_OF_PROGRAM = (*FOLDERS, "<frozen ")


@export("profiler.write_op_log", "contrib.tfprof.tfprof_logger.write_op_log")
def write_op_log(
    graph: Graph | None, log_dir: Any, op_log: Any = None, run_meta: Any = None,
    add_trace: bool = True,
) -> None:  # fmt: skip
    """Write the file `tfprof_log` of an `OpLogProto`, for TensorFlow's command-line profiler.

    Args:
      graph: the graph; the default one if None.
      log_dir: the folder.
      op_log: an `OpLogProto` whose entries are added.
      run_meta: a `RunMetadata`.
      add_trace: whether the lines that made the operations are written.
    """
    found = merged(graph or get_default_graph(), op_log, run_meta, add_trace)
    write_string_to_file(os.path.join(log_dir, "tfprof_log"), found.SerializeToString())


def merged(
    graph: Graph | None, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> Any:
    """Return an `OpLogProto` of the operations of a graph, with the data of `op_log`."""
    graph = graph or get_default_graph()
    if run_meta is not None:
        _take_shapes(graph, run_meta)
    given = {entry.name: entry for entry in op_log.log_entries} if op_log is not None else {}
    result = OpLogProto()
    words = {"none": 0}
    for entry in _entries(graph, words if add_trace else None, traced=run_meta is not None):
        more = given.pop(entry.name, None)
        if more is not None:
            entry.float_ops = more.float_ops or entry.float_ops
            entry.types[:] = [*more.types, *entry.types]
        result.log_entries.append(entry)
    result.log_entries.extend(given.values())
    for word, number in words.items():
        result.id_to_string[number] = word
    return result


def _entries(graph: Graph, words: dict[str, int] | None, traced: bool) -> list[Any]:
    """Return an entry of each operation that there is something to say of."""
    trainable = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    found, unknown = [], 0
    for op in graph.get_operations():
        entry = OpLogEntry(name=op.name)
        try:
            entry.float_ops = flops_of(op)
        except ValueError:  # a shape is not known, or the format of images is not NHWC
            unknown += 1
        if op.name in trainable:
            entry.types.append(TRAINABLE_VARIABLES)
        if words is not None:
            _add_trace(entry, op, words)
        if entry.float_ops or entry.types or words is not None:
            found.append(entry)
    if unknown and not traced:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    return found


def _add_trace(entry: Any, op: Operation, words: dict[str, int]) -> None:
    entry.code_def.SetInParent()
    for path, line, function, text, start in op.traceback_with_start_lines:
        if path.startswith(_NOT_OF_PROGRAM):
            continue
        numbers = [words.setdefault(word, len(words)) if word else 0
                   for word in (path, function, text)]  # fmt: skip
        entry.code_def.traces.add(
            file_id=numbers[0], lineno=line, function_id=numbers[1], line_id=numbers[2],
            func_start_line=start,
        )  # fmt: skip


def _take_shapes(graph: Graph, run_meta: Any) -> None:
    """Has tensors of unknown shape take that of a traced run."""
    for device in run_meta.step_stats.dev_stats:
        for stats in device.node_stats:
            op = graph._by_name.get(stats.node_name)
            if op is None or len(stats.output) != len(op.outputs):
                continue
            for tensor, output in zip(op.outputs, stats.output, strict=True):
                if not tensor.get_shape().is_fully_defined():
                    seen = [dim.size for dim in output.tensor_description.shape.dim]
                    _merge_shape(tensor, TensorShape(seen))


def _merge_shape(tensor: Any, seen: TensorShape) -> None:
    try:
        tensor.set_shape(tensor.get_shape().merge_with(seen))
    except ValueError as error:
        name = tensor.op.name
        print(f"Node {name} incompatible shapes: {error}.", file=sys.stderr)
