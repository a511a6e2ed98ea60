"""Order of computation of a graph's nodes, and the sizes of their images."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stillflow.graph.export import export
from stillflow_contrib.receptive_field.layer_parameters import get_layer_params


class NodeInfo(NamedTuple):
    """The place of a node in the order, the node, and heights and widths of its images."""

    order: int
    node: Any
    input_size: Any
    output_size: Any


def parse_graph_nodes(graph_def: Any) -> dict[str, Any]:
    """{name: node} of a GraphDef."""
    return {node.name: node for node in graph_def.node}


def _output_resolution(size: Any, kernel: Any, stride: Any, padding: Any) -> int | None:
    if size is None or kernel is None or stride is None or padding is None:
        return None
    return math.ceil((size + padding - kernel + 1) / stride)


def _output_size(node: Any, nodes: dict[str, Any], input_size: Any) -> Any:
    if input_size is None:
        return None
    found = get_layer_params(node, nodes, input_size, force=True)
    # TensorFlow takes x for the first of height and width here.
    return [
        _output_resolution(
            input_size[0], found.kernel_size_x, found.stride_x, found.total_padding_x
        ),
        _output_resolution(
            input_size[1], found.kernel_size_y, found.stride_y, found.total_padding_y
        ),
    ]


def _parents(node: Any) -> list[str]:
    return [name.partition(":")[0] for name in node.input if not name.startswith("^")]


@export("contrib.receptive_field.get_compute_order")
def get_compute_order(
    graph_def: Any, input_node_name: str = "", input_node_size: Any = None
) -> tuple[dict[str, NodeInfo], dict[str, Any]]:
    """When each node is computed: after all that it needs.

    Args:
      graph_def: a GraphDef without loops.
      input_node_name: where to begin; this one is first.
      input_node_size: its height and width.

    Returns:
      ({name: NodeInfo}, {name: node}).
    """
    nodes = parse_graph_nodes(graph_def)
    found: dict[str, NodeInfo] = {}
    for name in nodes:
        _visit(name, nodes, found, input_node_name, input_node_size)
    return found, nodes


def _visit(
    name: str, nodes: dict[str, Any], found: dict[str, NodeInfo], first: str, size: Any
) -> None:
    """Add a node to those found, and before it its inputs; graphs may be deep."""
    waiting = [name]
    while waiting:
        current = waiting[-1]
        node = nodes[current]
        if current in found:
            waiting.pop()
        elif current == first:
            found[current] = NodeInfo(0, node, None, size)
        else:
            parents = _parents(node)
            missing = [parent for parent in parents if parent not in found]
            if missing:
                waiting.append(missing[0])
                continue
            order = max((found[parent].order + 1 for parent in parents), default=0)
            input_size = found[parents[0]].output_size if parents else None
            output_size = _output_size(node, nodes, input_size)
            found[current] = NodeInfo(order, node, input_size, output_size)
