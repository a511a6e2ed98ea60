"""Switch between functions and Switch/Merge for branches and loops.

Inside of a `tf.function` they are always functions; inside of a `Defun` only if that is enabled.
"""

from __future__ import annotations

import os

from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph

_VARIABLES = (
    "TF_ENABLE_CONTROL_FLOW_V2", "TF_ENABLE_COND_V2", "TF_ENABLE_WHILE_V2",
    "TF_ENABLE_TENSOR_ARRAY_V2",
)  # fmt: skip
# Whether graphs that are no functions get functions, too.
enabled = any(os.environ.get(name, "0") != "0" for name in _VARIABLES)


@export("enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Has `tf.cond` and `tf.while_loop` build `If` and `While` operations from now on."""
    global enabled
    enabled = True


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Has `tf.cond` and `tf.while_loop` build Switch and Merge outside of functions."""
    global enabled
    enabled = False


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Return True if `tf.cond` and `tf.while_loop` build `If` and `While` operations here."""
    return calls_functions(get_default_graph())


def calls_functions(graph: Graph) -> bool:
    """Return True if branches and loops that are added to a graph are functions."""
    return enabled or (graph.building_function and not getattr(graph, "is_legacy", False))
