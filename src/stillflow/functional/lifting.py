"""Copies of the computations of a function's body, in the graph outside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import placeholder, placeholder_with_default
from stillflow.ops.functional.nodes import copy_handle_data


class UnliftableError(Exception):
    """Error for a part of a function's body that depends on a missing argument."""

    ag_pass_through = True  # AutoGraph leaves its message as it is


def lift(tensors: Sequence[Tensor], body: FuncGraph, graph: Graph) -> list[Tensor]:
    """Copy the computation of some tensors of a body into another graph; return the copies.

    Tensors of graphs outside stay as they are. UnliftableError if one depends on an argument, or on
    what the function captured.
    """
    copies: dict[Tensor, Tensor] = {}
    needed: set[Operation] = set()
    for tensor in tensors:
        if tensor.home is body:
            needed |= _needed_by(tensor, body.inputs)
    for op in body._operations:
        if op not in needed:
            continue
        inputs = [copies[each] for each in op._inputs]
        types = [each.dtype for each in op._outputs]
        made = graph.add_op(op.card, inputs, dict(op.attrs), types, graph.unique_name(op.name))
        copies.update(zip(op._outputs, made._outputs, strict=True))
    return [copies.get(tensor, tensor) for tensor in tensors]


def _needed_by(tensor: Tensor, refused: Collection[Tensor]) -> set[Operation]:
    """Return the operations that a tensor is computed by."""
    came_from: dict[Operation, Operation | None] = {tensor.op: None}
    waiting = [tensor.op]
    given = {each.op for each in refused}
    while waiting:
        op = waiting.pop()
        if op in given:
            raise UnliftableError(
                f"Unable to lift tensor {tensor!r} because it depends transitively on placeholder "
                f"{op!r} via at least one path, e.g.: {_path(op, came_from)}"
            )
        for source in (*(each.op for each in op._inputs), *op._control_inputs):
            if source not in came_from:
                came_from[source] = op
                waiting.append(source)
    return set(came_from)


def _path(op: Operation | None, came_from: dict[Operation, Any]) -> str:
    steps: list[str] = []
    while op is not None:
        steps.append(f"{op.name} ({op.type})")
        op = came_from[op]
    return " <- ".join(reversed(steps))


def lift_to_graph(
    tensors: Sequence[Any],
    graph: Graph,
    sources: Sequence[Tensor] | None = None,
    disallowed_placeholders: Collection[Operation] | None = None,
    add_sources: bool = False,
    handle_captures: bool = False,
    base_graph: Graph | None = None,
    op_map: dict[Any, Any] | None = None,
) -> dict[Any, Any]:
    """Copy the operations that tensors depend on into another graph.

    Variables among the tensors are returned unchanged. Placeholders stand for `sources` in `graph`,
    and are sources, too, if `add_sources`. By default no placeholder may be copied. If
    `handle_captures`, `graph` captures what the body of a function has captured. `base_graph` is by
    default that of the first tensor; `op_map` are copies that exist, by the original. Returns the
    copies of operations and tensors by the original, `op_map` if given. UnliftableError if an
    operation must not be copied, or is part of a loop of `tf.while_loop`.
    """
    wanted = [each for each in tensors if isinstance(each, Tensor)]
    base = base_graph or wanted[0].graph
    copies: dict[Any, Any] = {} if op_map is None else op_map
    copies.update((each, each) for each in tensors if not isinstance(each, Tensor))
    given = dict.fromkeys(sources or ())
    part = _reached(wanted, given, copies, disallowed_placeholders, add_sources)
    outside = {}
    if isinstance(base, FuncGraph) and isinstance(graph, FuncGraph):
        outside = {inside: captured for captured, inside in base.captures}
    with graph.as_default():
        order = {inside: place for place, inside in enumerate(outside)}
        for tensor in sorted(given, key=lambda each: order.get(each, len(order))):
            captured = outside.get(tensor) if handle_captures else None
            made = _source(tensor, graph, captured)
            copies[tensor], copies[tensor.op] = made, made.op
        for function in base._functions.values():
            if function.name not in graph._functions:
                function.add_to_graph(graph)
        for op in base.get_operations():
            if op in part and op not in copies:
                _copy(op, graph, copies)
    return copies


def _reached(
    tensors: Sequence[Tensor],
    sources: dict[Tensor, None],
    copies: dict[Any, Any],
    disallowed: Collection[Operation] | None,
    add_sources: bool,
) -> set[Operation]:
    """Return the operations between tensors and sources; add placeholders to the sources."""
    came_from: dict[Operation, Operation | None] = {}
    waiting: list[tuple[Operation, Operation | None]] = [
        (each.op, None) for each in tensors if each not in sources
    ]
    while waiting:
        op, consumer = waiting.pop()
        if op in came_from or op in copies:
            continue
        came_from[op] = consumer
        is_placeholder = op.type == "Placeholder"
        refused = not add_sources and is_placeholder if disallowed is None else op in disallowed
        if refused:
            raise UnliftableError(
                f"Unable to lift tensor {tensors[0]!r} because it depends transitively on "
                f"placeholder {op!r} via at least one path, e.g.: {_path(op, came_from)}"
            )
        if is_placeholder:
            sources.update(dict.fromkeys(op._outputs))
            continue
        waiting += [(each.op, op) for each in op._inputs if each not in sources]
        waiting += [(each, op) for each in op._control_inputs]
    return set(came_from)


def _source(tensor: Tensor, graph: Graph, captured: Tensor | None) -> Tensor:
    """Return the stand-in of a source: a capture, a placeholder with its constant, or without."""
    if captured is not None:
        assert isinstance(graph, FuncGraph)
        return graph.capture(captured, tensor.op.name)
    with graph.device(tensor.op.device or None):
        default = tensor.op._inputs[0] if tensor.op.type == "PlaceholderWithDefault" else None
        if default is not None and default.op.type == "Const":
            copies: dict[Any, Any] = {}
            _copy(default.op, graph, copies)
            return placeholder_with_default(copies[default], tensor.shape, tensor.op.name)
        made = placeholder(tensor.dtype, tensor.shape, tensor.op.name)
    copy_handle_data(tensor, made)
    return made


def _copy(op: Operation, graph: Graph, copies: dict[Any, Any]) -> None:
    """Add a copy of an operation, without its colocations, to a graph."""
    if any(each not in copies for each in op._inputs):
        raise UnliftableError(f"Unable to lift {op!r} because it is part of a loop")
    controls = [copies[each] for each in op._control_inputs if each in copies]
    attrs = {
        key: value
        for key, value in op.attrs.items()
        if not key.startswith(("_class", "_tpu_replicate"))
    }
    types = [each.dtype for each in op._outputs]
    with graph.control_dependencies(controls), graph.device(op.device or None):
        inputs = [copies[each] for each in op._inputs]
        made = graph.add_op(op.card, inputs, attrs, types, graph.unique_name(op.name))
    copies[op] = made
    copies.update(zip(op._outputs, made._outputs, strict=True))
