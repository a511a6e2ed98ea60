"""Graph transform that folds constants."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import errors
from stillflow.graph.card import find
from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_proto import to_proto
from stillflow.protos import GraphDef, NodeDef
from stillflow.tools.graph_transforms.context import Context, invalid, transforms
from stillflow.tools.graph_transforms.nodes import changed, imported, node_name

# No two constants have one, so that graphs can be folded again.
_NUMBERS = itertools.count()

_LARGEST = 10 * 1024 * 1024  # bytes of a constant that is worth it
_OF_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})
_CONTROL = frozenset({
    "Enter", "Exit", "LoopCond", "Merge", "NextIteration", "PartitionedCall", "Placeholder",
    "PlaceholderWithDefault", "StatefulPartitionedCall", "Switch",
})  # fmt: skip


@transforms("fold_constants")
def fold_constants(graph_def: Any, context: Context) -> Any:
    """Fold constants, and leave out nodes that outputs do not need."""
    if context.flag("clear_output_shapes", True):
        graph_def = changed(graph_def, lambda node: node.attr.pop("_output_shapes", None))
    graph = imported(graph_def)
    fed = {_tensor(graph, name) for name in context.inputs}
    _require_values(graph, context.outputs)
    folded = _Folding(graph, fed, context).values()
    replacements: dict[Tensor, Any] = {}
    largest = context.number("max_constant_size_in_bytes", _LARGEST)
    for tensor in sorted(folded, key=lambda tensor: (tensor.op.name, tensor.value_index)):
        if folded[tensor].nbytes <= largest:
            name = f"{tensor.op.name}/_{len(replacements)}__cf__{next(_NUMBERS)}"
            replacements[tensor] = _constant(name, tensor, folded[tensor])
    names = {tensor: node.name for tensor, node in replacements.items()}
    names.update({tensor: tensor.name for tensor in fed})
    nodes = [_node(op, names) for op in graph.get_operations()]
    return _needed([*nodes, *replacements.values()], fed, context)


def _tensor(graph: Any, name: str) -> Tensor:
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError):
        raise errors.not_found(f"FeedInputs: unable to find feed output {name}") from None


def _require_values(graph: Any, outputs: Iterable[str]) -> None:
    """Raise an error for outputs that are operations without a value, which nobody fetches."""
    nodes = {op.name: op for op in graph.get_operations()}
    for name in outputs:
        op = nodes.get(name.partition(":")[0])
        if op is not None and not op.outputs:
            raise errors.invalid_argument(
                f"Tried to fetch data for '{name}', which produces no output.  To run to a node "
                f"but not fetch any data, pass '{name}' as an argument to the 'target_node_names' "
                "argument of the Session::Run API."
            )


class _Folding:
    """Folding of constants: finds them in a graph, and computes those that others read."""

    def __init__(self, graph: Any, fed: set[Tensor], context: Context) -> None:
        self.graph, self.fed = graph, fed
        self.excluded_ops = set(context.parameters.get("exclude_op", ()))
        self.excluded_nodes = set(context.parameters.get("exclude_node", ()))
        self.constant: set[Operation] = set()
        self.of_shape: dict[Tensor, Any] = {}
        for op in graph.get_operations():
            if not any(tensor in fed for tensor in op.outputs) and self._is_constant(op):
                self.constant.add(op)

    def _is_constant(self, op: Operation) -> bool:
        if op.type == "Const":
            return True
        card = find(op.type)
        if (
            op.type in _CONTROL
            or op.type in self.excluded_ops
            or op.name in self.excluded_nodes
            or card is None
            or card.effect != "pure"
            or not op.outputs
            or not op.inputs
        ):
            return False
        if op.type in _OF_SHAPES:
            values = {tensor: constant_value(tensor) for tensor in op.outputs}
            if all(value is not None for value in values.values()):
                self.of_shape.update(values)
                return True
        return all(tensor.op in self.constant for tensor in op.inputs)

    def _read(self) -> Iterator[Tensor]:
        for op in self.graph.get_operations():
            if op not in self.constant:
                for tensor in op.inputs:
                    if tensor.op in self.constant and tensor.op.type != "Const":
                        yield tensor

    def values(self) -> dict[Tensor, Any]:
        """Return the values of the constants that are read by others, but of Const nodes."""
        wanted = list(dict.fromkeys(self._read()))
        known = {tensor: np.asarray(value) for tensor, value in self.of_shape.items()}
        computed = [tensor for tensor in wanted if tensor not in known]
        if computed:
            with tf.Session(graph=self.graph) as session:
                known.update(zip(computed, map(np.asarray, session.run(computed, dict(known)))))
        return {tensor: known[tensor] for tensor in wanted}


def _constant(name: str, tensor: Tensor, value: Any) -> Any:
    node = NodeDef(op="Const", name=name)
    node.attr["dtype"].type = tensor.dtype.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(to_proto(value, tensor.dtype))
    return node


def _node(op: Operation, names: dict[Tensor, str]) -> Any:
    """Return an operation's node, which reads some tensors by other names."""
    node = NodeDef()
    node.CopyFrom(op.node_def)
    for i, tensor in enumerate(op.inputs):
        if tensor in names:
            node.input[i] = names[tensor]
    return node


def _needed(nodes: list[Any], fed: set[Tensor], context: Context) -> Any:
    """Return the nodes that outputs need, then the inputs, as placeholders."""
    by_name = {node.name: node for node in nodes}
    inputs = {tensor.op.name for tensor in fed}
    used: set[str] = set()
    current = [node_name(name) for name in context.outputs]
    while current:
        name = current.pop()
        if name in used or name in inputs:
            continue
        if name not in by_name:
            raise invalid(f"Bad graph structure, no node named '{name}' found for input lookup")
        used.add(name)
        current += [node_name(source) for source in by_name[name].input]
    result = GraphDef()
    result.node.extend(node for node in nodes if node.name in used and node.name not in inputs)
    for name in dict.fromkeys(node_name(name) for name in context.inputs):
        node = result.node.add()
        node.CopyFrom(by_name[name])
        if node.op == "PlaceholderWithDefault":
            node.op = "Placeholder"
            del node.input[:]
        elif node.op != "Placeholder":
            raise invalid(
                f"Input '{name}' was expected to be a Placeholder or "
                f"PlaceholderWithDefault op, but was {node.op}"
            )
    return result
