"""Whether branches and loops give all that they compute, for gradients that are asked for later.

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
    """Whether branches and loops that are functions give all that they compute.

    Args:
      state: whether they do; None for the default, which is that they do in Keras layers.
    """
    global wanted
    wanted = state


def outputs_all_intermediates() -> bool:
    """Whether a branch or loop that is built now gives all that it computes."""
    if wanted is not None:
        return wanted
    if in_defun() or in_xla_graph(get_default_graph()):
        return False
    return builds_layer is not None and builds_layer()


def in_defun() -> bool:
    """Whether the default graph is part of a function that is neither a branch nor a loop."""
    graph = get_default_graph()
    while isinstance(graph, (CondBranchFuncGraph, WhileBodyFuncGraph)):
        graph = graph.outer_graph
    return isinstance(graph, FuncGraph)
