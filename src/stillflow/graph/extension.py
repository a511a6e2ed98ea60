"""Nodes of a GraphDef added to a graph that has the operations they refer to."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph.card import find
from stillflow.graph.graph import Graph
from stillflow.graph.importer import Importer
from stillflow.graph.operation import Operation


def extend(graph: Graph, graph_def: Any) -> list[Operation]:
    """Add nodes to a graph under their own names, all of them or none.

    Args:
      graph: a graph, whose operations are inputs of the nodes, and places for them.
      graph_def: a `GraphDef`.

    Returns:
      The operations.

    Raises:
      tf.errors.InvalidArgumentError, tf.errors.NotFoundError: if the GraphDef is not well formed,
        names something that does not exist, or an operation that is there already.
    """
    there: dict[str, Any] = {}
    before = graph._by_name
    for node in graph_def.node:
        if node.name in before:
            raise errors.invalid_argument(
                f"GraphDef argument to Extend includes node '{node.name}', which was created by a "
                "previous call to Create or Extend in this session."
            )
        for text in node.input:
            name, _, number = text.lstrip("^").partition(":")
            op = before.get(name)
            if op is None:
                continue
            index = int(number) if number.isdecimal() else 0
            if text.startswith("^"):
                there[text] = op
            elif index < len(op._outputs):
                there[text] = op._outputs[index]
    functions = {function.signature.name for function in graph_def.library.function}
    for node in graph_def.node:
        known = find(node.op) is not None or graph._get_function(node.op) is not None
        if not known and node.op not in functions:
            raise errors.not_found(f"Op type not registered '{node.op}'")
    importer = Importer(graph, graph_def, "", there)
    importer.colocated = before
    try:
        importer.run(())
    except (ValueError, TypeError, KeyError) as error:
        raise errors.invalid_argument(str(error)) from None
    added = list(importer.made.values())
    for op in added:
        op._frames = []  # the program that made it is in another process
    return added
