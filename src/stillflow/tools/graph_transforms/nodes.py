"""Nodes of a GraphDef: found by pattern, replaced, ordered, and their inputs renamed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.graph import Graph
from stillflow.graph.importer import import_graph_def
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.platform import tf_logging as logging
from stillflow.protos import GraphDef, NodeDef
from stillflow.tools.graph_transforms.context import invalid


def node_name(source: str) -> str:
    """Return the node's name in an input such as `^a` or `a:1`."""
    return source.removeprefix("^").partition(":")[0]


def canonical(source: str) -> str:
    """Return an input with the number of the output, `a:0`."""
    return source if ":" in source else f"{source}:0"


def graph_of(nodes: Sequence[Any]) -> Any:
    """Return a GraphDef of copies of some nodes."""
    result = GraphDef()
    result.node.extend(nodes)
    return result


def changed(graph_def: Any, change: Callable[[Any], None]) -> Any:
    """Return a GraphDef each of whose nodes has been changed in its place."""
    result = graph_of(graph_def.node)
    for node in result.node:
        change(node)
    return result


def constant(name: str, value: Any, dtype: dtypes.DType = dtypes.float32) -> Any:
    """Return a Const node, its value as bytes."""
    array = np.asarray(value, dtype.as_numpy_dtype)
    node = NodeDef(op="Const", name=name)
    node.attr["dtype"].type = dtype.as_datatype_enum
    tensor = node.attr["value"].tensor
    tensor.dtype = dtype.as_datatype_enum
    tensor.tensor_shape.SetInParent()
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = array.tobytes()
    return node


def value_of(node: Any) -> np.ndarray[Any, Any]:
    """Return the value of a Const node; InvalidArgumentError if it has none."""
    for attr in ("dtype", "value"):
        if attr not in node.attr:
            raise invalid(f"No '{attr}' attribute for Const node {node.name}")
    try:
        value: np.ndarray[Any, Any] = make_ndarray(node.attr["value"].tensor)
    except (TypeError, ValueError) as error:
        raise invalid(f"Decoding Tensor failed for node{node.name}: {error}") from None
    return value


class Pattern(NamedTuple):
    """Nodes to look for: types of operation, by bars, or "*"; and patterns of all data inputs."""

    ops: str
    inputs: tuple[Pattern, ...] = ()


ANY, CONST = Pattern("*"), Pattern("Const")


class Match(NamedTuple):
    """A node that was found, and the matches of its inputs."""

    node: Any
    inputs: tuple[Match, ...] = ()

    def nodes(self) -> list[Any]:
        """Return all its nodes, each once, breadth first."""
        found: dict[str, Any] = {}
        level: list[Match] = [self]
        while level:
            for match in level:
                found.setdefault(match.node.name, match.node)
            level = [below for match in level for below in match.inputs]
        return list(found.values())


Replace = Callable[[Match, Collection[str]], "Sequence[Any]"]


def replaced(graph_def: Any, pattern: Pattern, replace: Replace, keeps_readers: bool = True) -> Any:
    """Return a GraphDef whose matches of a pattern have given way to other nodes.

    A node is part of one match only. `replace` takes a match, and the names of its nodes that are
    read from outside, and returns the nodes that stand where its first node was. If
    `keeps_readers`, a match stays as it is when a node that is read would be lost.
    """
    matches = {match.node.name: match for match in _matches(graph_def, pattern)}
    matched = {node.name for match in matches.values() for node in match.nodes()}
    readers = defaultdict(list)
    for node in graph_def.node:
        for source in node.input:
            readers[node_name(source)].append(node.name)
    result = GraphDef()
    for node in graph_def.node:
        match = matches.get(node.name)
        if match is None:
            if node.name not in matched:
                result.node.add().CopyFrom(node)
            continue
        old = match.nodes()
        inside = {part.name for part in old}
        read = {name for name in inside if any(reader not in inside for reader in readers[name])}
        new = replace(match, read)
        if keeps_readers and not read <= {part.name for part in new}:
            logging.warning(f"The nodes {sorted(read)} are read: the match of {node.name} stays")
            new = old
        result.node.extend(new)
    return result


def _matches(graph_def: Any, pattern: Pattern) -> Iterator[Match]:
    try:
        ordered = by_execution(graph_def)
    except errors.InvalidArgumentError:  # a cycle: nothing is found
        ordered = GraphDef()
    nodes = {node.name: node for node in ordered.node}
    taken: set[str] = set()
    for node in ordered.node:
        match = _match(node, pattern, nodes, taken)
        if match is not None:
            taken.update(part.name for part in match.nodes())
            yield match


def _match(node: Any, pattern: Pattern, nodes: Mapping[str, Any], taken: set[str]) -> Match | None:
    if node.name in taken or (pattern.ops != "*" and node.op not in pattern.ops.split("|")):
        return None
    if not pattern.inputs:
        return Match(node)
    sources = [source for source in node.input if not source.startswith("^")]
    if len(sources) != len(pattern.inputs):
        return None
    inputs = []
    for source, wanted in zip(sources, pattern.inputs):
        below = _match(nodes[node_name(source)], wanted, nodes, taken)
        if below is None:
            return None
        inputs.append(below)
    return Match(node, tuple(inputs))


def by_execution(graph_def: Any) -> Any:
    """Return a GraphDef whose nodes stand behind those they read; InvalidArgumentError if none."""
    places = {node.name: i for i, node in enumerate(graph_def.node)}
    readers: list[list[int]] = [[] for _ in graph_def.node]
    pending = []
    for i, node in enumerate(graph_def.node):
        controls = sum(source.startswith("^") for source in node.input)
        is_merge = node.op in ("Merge", "RefMerge", "_XlaMerge")
        pending.append(controls + 1 if is_merge else len(node.input))
        for source in node.input:
            if node_name(source) not in places:
                raise invalid(f"Node '{node.name}': Unknown input node '{source}'")
            readers[places[node_name(source)]].append(i)
    ready = [i for i, node in enumerate(graph_def.node) if not node.input]
    result = GraphDef()
    while ready:
        place = ready.pop()
        result.node.add().CopyFrom(graph_def.node[place])
        for reader in readers[place]:
            pending[reader] -= 1
            if not pending[reader]:
                ready.append(reader)
    if len(result.node) < len(graph_def.node):
        raise invalid(f"{len(graph_def.node) - len(result.node)} nodes in a cycle")
    return result


def renamed_inputs(graph_def: Any, names: Mapping[str, str], ignored: Collection[str] = ()) -> Any:
    """Return a GraphDef whose nodes, `ignored` ones aside, read from elsewhere.

    `names` has for inputs, or for all outputs of a node as `a:*`, what to read instead;
    InvalidArgumentError if they go round in a circle.
    """
    by_node = defaultdict(list)
    for old, new in sorted(names.items()):
        by_node[node_name(old)].append((old, new))

    def change(node: Any) -> None:
        if node.name not in ignored:
            node.input[:] = [_renamed(source, by_node) for source in node.input]

    return changed(graph_def, change)


def _renamed(source: str, by_node: Mapping[str, list[tuple[str, str]]]) -> str:
    visited: set[str] = set()
    while (name := node_name(source)) in by_node:
        if name in visited:
            raise invalid(f"RenameNodeInputs argument contains a cycle for {name}")
        visited.add(name)
        found = None
        for old, new in by_node[name]:
            if old.endswith(":*"):
                prefix = "^" if source.startswith("^") else ""
                found = prefix + new + source[len(prefix + name) :]
            elif canonical(old) == canonical(source):
                found = new
        if found is None:
            break
        source = found
    return source


def imported(graph_def: Any) -> Graph:
    """Return the graph that a GraphDef describes; InvalidArgumentError if it is none."""
    graph = Graph()
    with graph.as_default():
        try:
            import_graph_def(graph_def, name="")
        except ValueError as error:
            raise invalid(str(error)) from None
    return graph
