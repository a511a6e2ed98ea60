"""Structure of a GraphDef's nodes, and replacement of a part by a single node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph_util import needed_by, node_name
from stillflow.protos import GraphDef


def extract_graph_summary(
    graph_def: Any,
) -> tuple[dict[str, list[str]], dict[str, Any], dict[str, int]]:
    """Return by node name: the names of its inputs, the node, and its place in the list."""
    inputs, nodes, places = {}, {}, {}
    for place, node in enumerate(graph_def.node):
        name = node_name(node.name)
        nodes[name], places[name] = node, place
        inputs[name] = list(needed_by(node))
    return inputs, nodes, places


def assert_nodes_are_present(name_to_node: dict[str, Any], nodes: Sequence[str]) -> None:
    """AssertionError if one of the names is not that of a node."""
    for name in nodes:
        assert name in name_to_node, f"{name} is not in graph"


def bfs_for_reachable_nodes(
    target_nodes: Sequence[str], name_to_input_name: dict[str, list[str]]
) -> set[str]:
    """Return the names of some nodes and of all that these need."""
    reached: set[str] = set()
    waiting = list(target_nodes)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(name_to_input_name.get(name, ()))
    return reached


@export("contrib.framework.fuse_op")
def fuse_op(
    graph_def: Any,
    input_nodes: list[str],
    output_nodes: list[str],
    output_dtypes: Sequence[int],
    output_quantized: bool,
    op_name: str,
    op_type: str,
) -> Any:
    """Return a GraphDef with one node instead of those between some inputs and outputs.

    Args:
      graph_def: a `GraphDef`.
      input_nodes: names of the last nodes before the part.
      output_nodes: names of nodes with one input, which come after the part.
      output_dtypes: the types of the new node's outputs, by number.
      output_quantized: whether these are quantized.
      op_name: the new node's name.
      op_type: its operation.

    Returns:
      A new `GraphDef`.

    Raises:
      TypeError: for arguments of other types, or if the part needs a node that is no input.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    for argument, names in (("input_nodes", input_nodes), ("output_nodes", output_nodes)):
        if isinstance(names, str):
            raise TypeError(f"{argument} must be a list.")
    inputs, nodes, places = extract_graph_summary(graph_def)
    assert_nodes_are_present(nodes, input_nodes + output_nodes)
    before = bfs_for_reachable_nodes(input_nodes, inputs)
    needed = bfs_for_reachable_nodes(output_nodes, inputs)
    inside = [name for name in inputs if name in needed - before - set(output_nodes)]
    _check_inside(inside, inputs, before, set(input_nodes))
    result = GraphDef()
    result.node.extend([nodes[name] for name in sorted(before, key=lambda name: places[name])])
    fused = result.node.add(name=op_name, op=op_type, input=input_nodes)
    fused.attr["_output_types"].list.type[:] = output_dtypes
    fused.attr["_output_quantized"].b = output_quantized
    for index, name in enumerate(output_nodes):
        assert len(nodes[name].input) == 1
        node = result.node.add()
        node.CopyFrom(nodes[name])
        node.input[:] = [f"{op_name}:{index}" if index else op_name]
    result.node.extend([nodes[name] for name in inputs if name not in needed | before])
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    return result


def _check_inside(
    inside: Sequence[str],
    inputs: dict[str, list[str]],
    before: Collection[str],
    allowed: Collection[str],
) -> None:
    """TypeError if a node of the part uses one from before it that is none of its inputs."""
    for name in inside:
        for source in inputs[name]:
            if source in before and source not in allowed:
                raise TypeError(f"Node {name} uses input {source} not in input_nodes.")
