"""Stateful operations of a function run in the order in which the program adds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.operation import Operation, Tensor

# Stateful by declaration, but in no order with others.
_UNORDERED = frozenset({
    "CollectiveGather", "CollectiveReduce", "CollectiveBcastSend", "CollectiveBcastRecv",
    "NcclAllReduce", "Send", "Recv",
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "ParameterizedTruncatedNormal",
    "TruncatedNormal", "RandomShuffle", "Multinomial", "RandomGamma", "RandomGammaGrad",
    "RandomPoisson", "RandomPoissonV2",
})  # fmt: skip


def order_effects(
    graph: FuncGraph, returned: Sequence[Tensor], operations: Sequence[Operation] | None = None
) -> list[Operation]:
    """Add control inputs; give the operations that run whenever the function does.

    Each operation on a resource waits for the one before on the same resource, each stateful one
    without a resource for the one before of that kind, and the returned values for all of them.
    `operations` are all those of the body by default.
    """
    last: dict[Any, Operation] = {}
    must_run: list[Operation] = []
    for op in graph._operations if operations is None else operations:
        if _in_loop(op):
            continue
        stateful = op._is_stateful and op.type not in _UNORDERED and op.type != "Placeholder"
        if stateful:
            must_run.append(op)
        resources = list(dict.fromkeys(t for t in op._inputs if t.dtype == dtypes.resource))
        keys: list[Any] = [t for t in resources if op.type not in ("Switch", "Merge")]
        if stateful and not resources and op._control_flow_context is None:
            keys = [None]
        waits = [last[key] for key in keys if key in last]
        for key in keys:
            last[key] = op
        context = op._control_flow_context
        op._add_control_inputs([o for o in waits if o._control_flow_context is context])
    for tensor in returned:
        context = tensor.op._control_flow_context
        same = [o for o in must_run if o._control_flow_context is context and o is not tensor.op]
        tensor.op._add_control_inputs(same)
    return must_run


def _in_loop(op: Operation) -> bool:
    context = op._control_flow_context
    while context is not None:
        if context.IsWhileContext():
            return True
        context = context.outer_context
    return False
