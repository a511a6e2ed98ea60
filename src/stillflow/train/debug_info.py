"""Origins of a graph's nodes in the program, as a `GraphDebugInfo` message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.protos import GraphDebugInfo


def create_graph_debug_info_def(operations: Iterable[tuple[str, Operation]]) -> Any:
    """Return the stack of calls that made each of some operations.

    Each has the name of the function that it is in; "" for the graph itself.
    """
    message = GraphDebugInfo()
    files: dict[str, int] = {}
    for caller, operation in operations:
        trace = message.traces[f"{caller}{operation.name}"]
        for frame in operation.traceback:
            path, line = tuple(frame)[:2]
            trace.file_line_cols.add(file_index=files.setdefault(path, len(files)), line=line)  # type: ignore[arg-type]
    message.files.extend(files)
    return message
