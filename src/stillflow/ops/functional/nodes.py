"""Common parts of nodes for branches and loops: names, attributes, added results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.function_defs import body_of
from stillflow.graph.functions import define, find_function, uid
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.functional.traced_graph import TracedGraph


class CondBranchFuncGraph(TracedGraph):
    """A branch."""


class WhileCondFuncGraph(TracedGraph):
    """The condition of a loop."""


class WhileBodyFuncGraph(TracedGraph):
    """The body of a loop."""


def function_name(scope: str, part: str) -> str:
    """Return a unique function name, for a part of the code in a name scope."""
    return f"{scope}{part}_{uid()}".replace("/", "_")


def gradient_name(name: str) -> str:
    return f"{name}_grad_{uid()}"


def function_attribute(body: FuncGraph) -> Any:
    """Add a body to the library of the graph around it; give the attribute that names it."""
    return define(body, graph=body.outer_graph).attribute()


def is_stateful(bodies: Iterable[FuncGraph]) -> bool:
    return any(op._is_stateful for body in bodies for op in body._operations)


def control_captures(bodies: Iterable[TracedGraph]) -> list[Any]:
    return [control for body in bodies for control in body.control_captures]


def positions(tensors: Sequence[Tensor]) -> dict[Tensor, int]:
    """Return the first position of each tensor."""
    return {tensor: place for place, tensor in reversed(list(enumerate(tensors)))}


def copy_handle_data(source: Tensor, target: Tensor) -> None:
    target._handle_dims, target._handle_dtype = source._handle_dims, source._handle_dtype


def in_xla_graph(graph: Graph | None) -> bool:
    """Return True if new operations of `graph`, or of one around it, are compiled."""
    while graph is not None:
        context = graph._get_control_flow_context()
        while context is not None and not context.IsXLAContext():
            context = context.outer_context
        if context is not None:
            return True
        graph = graph._outer_graph
    return False


def finish(op: Operation) -> None:
    """Mark a new node for inlining at run time, or for compilation as a whole."""
    mark = "_lower_using_switch_merge"
    if in_xla_graph(op.graph):
        mark = "_xla_propagate_compile_time_consts"
    op.attrs[mark] = True


def add_outputs(op: Operation, like: Sequence[Tensor]) -> None:
    """Add results to an operation, with the types and shapes of some tensors."""
    for inner in like:
        tensor = Tensor(op, len(op._outputs), inner.dtype)
        tensor._dims = inner._dims
        copy_handle_data(inner, tensor)
        op._outputs.append(tensor)
    op.graph._changed()


def rebuilt_body(op: Operation, name: str, shapes: Sequence[TensorShape]) -> TracedGraph:
    """Return the function that `op` names, built again in its graph for differentiation."""
    function = find_function(op.graph, name)
    assert function is not None
    with op.graph.as_default():
        body = TracedGraph(name)
    body_of(function.definition, op.graph, {}, body, [shape._dims for shape in shapes])
    return body


def indirect_source(tensor: Tensor, graph: FuncGraph) -> int:
    """Return the position of the argument of a body that a resource comes from."""
    places = positions(graph.inputs)
    while tensor not in places:
        op = tensor.op
        if op.type in ("While", "StatelessWhile"):
            tensor = op._inputs[tensor.value_index]
        elif op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            function = find_function(graph, op.attrs["f"].name)
            assert function is not None
            body = function.instantiate(graph)
            tensor = op._inputs[indirect_source(body.outputs[tensor.value_index], body)]
        else:
            raise ValueError(
                "Taking gradient of a while loop which creates a resource in its body is not "
                f"supported: {op.name}"
            )
    return places[tensor]


def shares_collections() -> dict[Any, list[Any]]:
    """Return the collections of the default graph, for bodies that have none of their own."""
    return get_default_graph()._collections


@cache
def disabled_rewriter_config() -> bytes:
    """Return the serialized `ConfigProto` of calls that are not to be optimized."""
    from stillflow.protos import ConfigProto

    config = ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    serialized: bytes = config.SerializeToString()
    return serialized
