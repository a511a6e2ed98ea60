"""Where a program made the nodes of its graph, as a `GraphDebugInfo` message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.protos import GraphDebugInfo


def graph_debug_info(graph: Graph, names: Sequence[str]) -> Any:
    """The stack of calls that made each of some nodes.

    Args:
      graph: The graph.
      names: The names of the nodes.
    """
    message = GraphDebugInfo()
    files: dict[str, int] = {}
    for name in names:
        trace = message.traces[name + "@"]
        for frame in graph.get_operation_by_name(name).traceback:
            path, line, function, text = tuple(frame)[:4]
            trace.file_line_cols.add(
                file_index=files.setdefault(path, len(files)),
                line=line,
                func=function,
                code=text or "",
            )
    message.files.extend(files)
    return message
