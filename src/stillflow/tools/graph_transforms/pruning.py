"""Graph transforms that leave nodes out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.protos import GraphDef, NodeDef
from stillflow.tools.graph_transforms.context import Context, invalid, transforms
from stillflow.tools.graph_transforms.nodes import (
    ANY,
    Match,
    Pattern,
    canonical,
    graph_of,
    node_name,
    renamed_inputs,
    replaced,
)
from stillflow.util.string_hashes import murmur64

_WORD = (1 << 64) - 1
_SEED = 0xDECAFCAFFE  # of the hash that TensorFlow compares nodes by


@transforms("strip_unused_nodes")
def strip_unused_nodes(graph_def: Any, context: Context) -> Any:
    """Keep the nodes that outputs need; inputs become placeholders."""
    inputs = {node_name(name) for name in context.inputs}
    nodes = {node.name: node for node in graph_def.node}
    required, current = set(inputs), [node_name(name) for name in context.outputs]
    while current:
        name = current.pop()
        required.add(name)
        if name in inputs:
            continue
        if name not in nodes:
            raise invalid(f"Input node {name} not found in graph")
        current += [
            node_name(source) for source in nodes[name].input if node_name(source) not in required
        ]
    result = GraphDef()
    for node in graph_def.node:
        if node.name in required:
            is_input = node.name in inputs and node.op != "Placeholder"
            result.node.add().CopyFrom(_placeholder(node.name, context) if is_input else node)
    return result


def _placeholder(name: str, context: Context) -> Any:
    node = NodeDef(op="Placeholder", name=name)
    kind = _setting(context, name, "type", "quint8") or "float"
    try:
        node.attr["dtype"].type = dtypes.as_dtype(
            "float32" if kind == "float" else kind
        ).as_datatype_enum
    except TypeError:
        raise invalid(f"Couldn't understand type argument '{kind}'") from None
    shape = node.attr["shape"].shape
    shape.SetInParent()
    text = _setting(context, name, "shape", '"1"')
    try:
        for size in text.split(",") if text is not None else ():
            shape.dim.add(size=int(size))
    except ValueError:
        raise invalid(
            f"Could parse as shape: '{text}'" if text else "Specificed shape is empty."
        ) from None
    return node


def _setting(context: Context, node: str, what: str, example: str) -> str | None:
    """Return the setting of a node's type or shape, by its name or for all."""
    parameters = context.parameters
    of_all = parameters.get(what, [])
    if len(of_all) > 1:
        raise invalid(f"You must pass no more than one default '{what}' to strip_unused_nodes")
    found = of_all[0] if of_all else None
    names, values = parameters.get("name", []), parameters.get(f"{what}_for_name", [])
    if names or values:
        if len(names) != len(values):
            raise invalid(
                f"You must pass a '{what}_for_name' arg for every 'name', e.g. strip_unused_nodes("
                f"name=foo, {what}_for_name=..., name=bar, {what}_for_name={example}"
            )
        for name, value in zip(names, values):
            if name == node:
                found = value
    return found


@transforms("remove_nodes")
def remove_nodes(graph_def: Any, context: Context) -> Any:
    """Remove nodes of some types: their inputs are read instead."""
    if "op" not in context.parameters:
        raise invalid(
            "remove_nodes expects at least one 'op'argument, e.g. remove_nodes(op=Identity)"
        )
    kept = {node_name(name) for name in (*context.inputs, *context.outputs)}
    for op in context.parameters["op"]:
        for count in range(1, context.number("max_inputs", 1) + 1):
            pattern = Pattern(op, (ANY,) * count)
            while True:
                names: dict[str, str] = {}
                found = replaced(graph_def, pattern, _without(kept, names), keeps_readers=False)
                graph_def = renamed_inputs(found, names)
                if not names:
                    break
    return graph_def


def _without(kept: set[str], names: dict[str, str]) -> Callable[..., Any]:
    def replace(match: Match, read: Any) -> list[Any]:
        node, source = match.node, match.inputs[0].node
        if node.name in kept:
            return match.nodes()
        target = next(
            (
                name
                for name in node.input
                if name == source.name or name.startswith(f"{source.name}:")
            ),
            source.name,
        )
        names[node.name] = target
        names[f"^{node.name}"] = f"^{source.name}"
        return [source]

    return replace


@transforms("merge_duplicate_nodes")
def merge_duplicate_nodes(graph_def: Any, context: Context) -> Any:
    """Keep one of the nodes that compute the same from the same."""
    kept = {*context.inputs, *context.outputs}
    while True:
        alike = defaultdict(list)
        for node in graph_def.node:
            alike[_fingerprint(node, node.name if node.name in kept else "")].append(node)
        names: dict[str, str] = {}
        left = []
        for fingerprint in sorted(alike):
            first, *others = alike[fingerprint]
            left.append(first)
            for node in others:
                card = find(node.op)
                if card is None:
                    raise invalid(f"Op type not registered '{node.op}'")
                if card.signature.is_stateful:
                    left.append(node)
                else:
                    names[f"{node.name}:*"] = first.name
        graph_def = renamed_inputs(graph_of(left), names)
        if not names:
            return graph_def


def _fingerprint(node: Any, name: str) -> int:
    """TensorFlow's hash of a node: it is also the order in which the nodes come out."""
    parts = [node.op, name, *(canonical(source) for source in node.input), node.device]
    values = [part.encode() for part in parts]
    values += [node.attr[attr].SerializeToString() for attr in sorted(node.attr)]
    result = murmur64(values[0], _SEED)
    for value in values[1:]:
        added = murmur64(value, _SEED) + 0x9E3779B97F4A7800 + (result << 10) + (result >> 4)
        result = (result ^ added) & _WORD
    return result
