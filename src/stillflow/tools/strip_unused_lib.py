"""The part of a GraphDef between some nodes and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.files import gfile
from stillflow.graph_util import extract_sub_graph
from stillflow.protos import GraphDef, NodeDef
from stillflow.tools.command_line import read_message, write_message

_KEPT = ("_output_shapes", "shape")


def strip_unused(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
) -> Any:
    """Return the GraphDef of the inputs of some nodes, with placeholders instead of others.

    Args:
      input_graph_def: a `GraphDef`.
      input_node_names: the nodes that become placeholders.
      output_node_names: the nodes that are needed.
      placeholder_type_enum: the `DataType` of the placeholders, or a list with one for each.

    Raises:
      ValueError: If an input's name is that of a tensor.
      KeyError: If there is no such input.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    missing = set(input_node_names)
    replaced = GraphDef()
    for node in input_graph_def.node:
        if node.name in input_node_names:
            missing.remove(node.name)
            kinds = placeholder_type_enum
            kind = (
                kinds[list(input_node_names).index(node.name)] if isinstance(kinds, list) else kinds
            )
            replaced.node.append(_placeholder(node, kind))
        else:
            replaced.node.append(node)
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}")
    return extract_sub_graph(replaced, output_node_names)


def _placeholder(node: Any, kind: int) -> Any:
    placeholder = NodeDef(op="Placeholder", name=node.name)
    placeholder.attr["dtype"].type = kind
    for name in _KEPT:
        if name in node.attr:
            placeholder.attr[name].CopyFrom(node.attr[name])
    return placeholder


def strip_unused_from_files(
    input_graph: str,
    input_binary: bool,
    output_graph: str,
    output_binary: bool,
    input_node_names: str,
    output_node_names: str,
    placeholder_type_enum: Any,
) -> int | None:
    """Strip the graph in one file, and write the rest to another.

    Args:
      input_graph: the file of a `GraphDef`.
      input_binary: whether it is serialized, rather than text.
      output_graph: the file to write.
      output_binary: True to serialize the output.
      input_node_names: the nodes that become placeholders, with commas between them.
      output_node_names: the nodes that are needed, with commas between them.
      placeholder_type_enum: the `DataType` of the placeholders.

    Returns:
      -1 if a name is missing, which is told on standard output.
    """
    if not gfile.file_exists(input_graph):
        print(f"Input graph file '{input_graph}' does not exist!")
        return -1
    if not output_node_names:
        print("You need to supply the name of a node to --output_node_names.")
        return -1
    graph_def = strip_unused(
        read_message(GraphDef, input_graph, input_binary, "graph"),
        input_node_names.split(","),
        output_node_names.split(","),
        placeholder_type_enum,
    )
    write_message(graph_def, output_graph, output_binary)
    print(f"{len(graph_def.node)} ops in the final graph.")
    return None
