"""Calling a program's function to build the body of a function of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stillflow import nest
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.flows import flow_of, is_tensor_array
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.forward_declarations import get_variable_scope
from stillflow.ops.functional.control_order import order_effects
from stillflow.ops.functional.traced_graph import TracedGraph


def trace_body(
    graph: TracedGraph,
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    ordered: bool,
    for_operations: Tensor | None = None,
) -> TracedGraph:
    """Build a body by calling a Python function; give the body.

    If `ordered`, operations with effects run in the order in which they are added, and before the
    function has given its results. `for_operations` stands in for operations in the results, which
    raise an error without it; TypeError if a result cannot become a tensor.
    """
    graph.orders_effects = ordered

    def convert(value: Any) -> Tensor | None:
        if value is None:
            return None
        if for_operations is not None and isinstance(value, Operation):
            with graph.control_dependencies([value]):
                value = identity(for_operations)
        elif not is_tensor_array(value):
            value = _as_tensor(value, function)
        if not ordered:
            return value
        return value.identity() if is_tensor_array(value) else identity(value)

    with graph.as_default():
        with _resource_variables():
            results = function(*args, **(kwargs or {}))
            results = nest.map_structure(convert, results, expand_composites=True)
        graph.structured_outputs = results
        flat = [flow_of(item) for item in nest.flatten(results, expand_composites=True)]
        graph.outputs = [within(graph, tensor) for tensor in flat if tensor is not None]
        if ordered:
            graph.control_outputs = order_effects(graph, graph.outputs)
    return graph


def within(graph: TracedGraph, tensor: Tensor) -> Tensor:
    """Return a tensor of the body, or the capture of an outside tensor."""
    return tensor if tensor.home is graph else graph.capture(tensor)


def _as_tensor(value: Any, function: Any) -> Tensor:
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.contrib.eager.defun, Python functions must return zero or "
            f"more Tensors; in compilation of {function}, found return value of type "
            f"{type(value)}, which is not a Tensor."
        ) from None


@contextmanager
def _resource_variables() -> Iterator[None]:
    """Variables that functions make are resources."""
    scope = get_variable_scope.value()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(before)
