"""tf.profiler.write_op_log: counts, lines and marks of operations in a file."""

from __future__ import annotations

import os
from typing import Any

from stillflow.files.gfile import write_string_to_file
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.profiler.measures import Measured, measure
from stillflow.protos import OpLogEntry, OpLogProto


@export("profiler.write_op_log", "contrib.tfprof.tfprof_logger.write_op_log")
def write_op_log(
    graph: Graph | None, log_dir: Any, op_log: Any = None, run_meta: Any = None,
    add_trace: bool = True,
) -> None:  # fmt: skip
    """Writes the file `tfprof_log` of an `OpLogProto`, for TensorFlow's command-line profiler.

    Args:
      graph: the graph; the default one if None.
      log_dir: the folder.
      op_log: an `OpLogProto` whose entries are added.
      run_meta: a `RunMetadata`.
      add_trace: whether the lines that made the operations are written.
    """
    found = merged(graph or get_default_graph(), op_log, run_meta, add_trace)
    write_string_to_file(os.path.join(log_dir, "tfprof_log"), found.SerializeToString())


def merged(graph: Graph, op_log: Any, run_meta: Any, add_trace: bool) -> Any:
    """An `OpLogProto` of the operations of a graph, with what `op_log` says of them."""
    runs = {0: run_meta} if run_meta is not None else {}
    result = OpLogProto()
    words = {"none": 0}
    for item in measure(graph, runs, op_log):
        entry = _entry(item, words if add_trace else None)
        if entry is not None:
            result.log_entries.append(entry)
    for word, number in words.items():
        result.id_to_string[number] = word
    return result


def _entry(item: Measured, words: dict[str, int] | None) -> Any:
    marks = sorted(item.types - {item.op_type, item.device})
    if not (item.own["float_ops"] or marks or words is not None):
        return None
    entry = OpLogEntry(name=item.name, float_ops=item.own["float_ops"], types=marks)
    if words is not None:
        for path, line, function in item.trace:
            numbers = [words.setdefault(word, len(words)) for word in (path, function)]
            entry.code_def.traces.add(file_id=numbers[0], lineno=line, function_id=numbers[1])
    return entry
