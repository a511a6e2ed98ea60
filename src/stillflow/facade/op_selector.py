"""Names of ``tensorflow.python.ops.op_selector`` that ``tf.contrib.graph_editor`` has not."""

from __future__ import annotations

from typing import Any

from stillflow.graph.gradient_registry import gradient_function
from stillflow.graph.operation import Operation
from stillflow_contrib.graph_editor import select


class UnliftableError(Exception):
    """Error for operations that cannot be removed from a graph."""


def is_differentiable(op: Operation) -> bool:
    """Return whether there is a gradient of an operation."""
    try:
        return gradient_function(op) is not None
    except LookupError:
        return False


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
    only_differentiable: bool = False,
) -> list[Operation]:
    """Return operations that some others depend on, as the graph editor's function of the name.

    `only_differentiable` follows inputs of operations with gradients only, and no controls.
    """
    return select.behind(
        seed_ops,
        inclusive,
        within_ops,
        within_ops_fn,
        stop_at_ts,
        control_inputs and not only_differentiable,
        is_differentiable if only_differentiable else None,
    )
