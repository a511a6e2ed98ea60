"""Effects of layers' calls in the graph that Keras has for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.functional.control_order import order_effects


def call_with_effects(call: Callable[[], Any]) -> Tensor:
    """Return a call's result, in tensors that depend on all operations with effects it adds."""
    graph: Any = get_default_graph()
    before, ordered = len(graph._operations), graph.orders_effects
    graph.orders_effects = True  # those of branches and loops as well
    try:
        outputs = nest.map_structure(_as_tensor, call())
    finally:
        graph.orders_effects = ordered
    added = graph._operations[before:]
    if not any(op._is_stateful for op in added):
        return outputs
    flat = nest.flatten(outputs, expand_composites=True)
    marked = [identity(x) for x in flat]
    for x, mark in zip(flat, marked, strict=True):
        if hasattr(x, "_keras_mask"):
            mark._keras_mask = x._keras_mask  # type: ignore[attr-defined]
    order_effects(graph, marked, added)
    return nest.pack_sequence_as(outputs, marked, expand_composites=True)


def _as_tensor(x: Any) -> Any:
    if x is None or isinstance(x, CompositeTensor):
        return x
    tensor = convert_to_tensor(x)
    return tensor if tensor is x else identity(tensor)
