"""Setting: branches and loops return all intermediates, for later gradients.

A node whose gradient is built gets more results. Where the graph is used before that, as in Keras
models, it gives them from the start.
"""

from __future__ import annotations

from collections.abc import Callable

from stillflow.graph.export import export
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import get_default_graph
from stillflow.ops.functional.nodes import (
    CondBranchFuncGraph,
    WhileBodyFuncGraph,
    in_xla_graph,
)

wanted: bool | None = None
# Whether a layer is being built; the module that has layers says so.
builds_layer: Callable[[], bool] | None = None


@export("experimental.output_all_intermediates")
def output_all_intermediates(state: bool | None) -> None:
    """Make branches and loops that are functions return all intermediates, or not.

    Args:
      state: whether they do; None for the default, which is that they do in Keras layers.
    """
    global wanted
    wanted = state


def outputs_all_intermediates() -> bool:
    """Return True if a branch or loop that is built now returns all intermediates."""
    if wanted is not None:
        return wanted
    if in_defun() or in_xla_graph(get_default_graph()):
        return False
    return builds_layer is not None and builds_layer()


def in_defun() -> bool:
    """Return True if the default graph is in a function other than a branch or a loop."""
    graph = get_default_graph()
    while isinstance(graph, (CondBranchFuncGraph, WhileBodyFuncGraph)):
        graph = graph.outer_graph
    return isinstance(graph, FuncGraph)
