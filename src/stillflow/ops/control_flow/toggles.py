"""Whether branches and loops are built as calls of functions; here they never are.

Graphs with `If` and `While` operations run; `tf.cond` and `tf.while_loop` do not build them.
"""

from __future__ import annotations

from stillflow.graph.export import export


@export("control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Whether `tf.cond` and `tf.while_loop` build `If` and `While` operations: they do not."""
    return False


@export("disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Does nothing: branches and loops are those of the graph."""
