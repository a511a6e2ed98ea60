"""Calls of layers between the inputs and the outputs of a model, and their order."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from stillflow import nest
from stillflow.layers.history import create_history
from stillflow.layers.node import Node


class Topology(NamedTuple):
    """The calls and layers of a model.

    Attributes:
      keys: of the calls, as `node_key` makes them.
      nodes_by_depth: the calls by their distance from the outputs.
      layers: from the inputs to the outputs.
    """

    keys: set[str]
    nodes_by_depth: dict[int, list[Node]]
    layers: list[Any]


def node_key(layer_name: str, node_index: int) -> str:
    """Return the key of a layer's call."""
    return f"{layer_name}_ib-{node_index}"


class _Walk:
    """The calls that the outputs need, each after those that it needs itself."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.layer_indices: dict[Any, int] = {}
        self.nodes: list[Node] = []
        self._finished: set[Node] = set()
        self._open: set[Node] = set()

    def visit(self, tensor: Any, layer: Any, node_index: int) -> None:
        waiting: list[tuple[Any, ...]] = [(tensor, layer, node_index)]
        while waiting:
            step = waiting.pop()
            if len(step) == 1:
                self._open.remove(step[0])
                self._finished.add(step[0])
                self.nodes.append(step[0])
                continue
            tensor, layer, node_index = step
            node = layer._inbound_nodes[node_index]
            if node in self._open:
                raise ValueError(f'The tensor {tensor} at layer "{layer.name}" is part of a cycle.')
            if node in self._finished:
                continue
            self.keys.add(node_key(layer.name, node_index))
            self.layer_indices.setdefault(layer, len(self.layer_indices))
            self._open.add(node)
            waiting.append((node,))
            inbound = node.iterate_inbound(include_arguments=True)
            waiting += [(x, below, index) for below, index, _, x in reversed(inbound)]


def map_graph(inputs: list[Any], outputs: list[Any]) -> Topology:
    """Return the topology between tensors; ValueError for cycles, and layers of one name."""
    walk = _Walk()
    for x in outputs:
        walk.visit(x, x._keras_history.layer, x._keras_history.node_index)
    node_depths, layer_depths = _depths(walk.nodes)
    for x in inputs:
        layer = x._keras_history.layer
        if layer not in layer_depths:  # an input that no output needs
            layer_depths[layer] = 0
            walk.layer_indices[layer] = -1
            node_depths[layer._inbound_nodes[0]] = 0
            walk.keys.add(node_key(layer.name, 0))
    nodes_by_depth: dict[int, list[Node]] = defaultdict(list)
    for node, depth in node_depths.items():
        nodes_by_depth[depth].append(node)
    order = walk.layer_indices
    layers = sorted(layer_depths, key=lambda layer: (-layer_depths[layer], order[layer]))
    _check_connected(inputs, nodes_by_depth)
    names = [layer.name for layer in layers]
    for name in names:
        if names.count(name) != 1:
            raise ValueError(
                f'The name "{name}" is used {names.count(name)} times in the model. All layer '
                "names should be unique."
            )
    return Topology(walk.keys, nodes_by_depth, layers)


def _depths(nodes: list[Node]) -> tuple[dict[Node, int], dict[Any, int]]:
    node_depths: dict[Node, int] = {}
    layer_depths: dict[Any, int] = {}
    for node in reversed(nodes):
        depth = max(node_depths.setdefault(node, 0), layer_depths.get(node.outbound_layer, 0))
        layer_depths[node.outbound_layer] = node_depths[node] = depth
        for below in node.dependencies():
            node_depths[below] = max(depth + 1, node_depths.get(below, 0))
    return node_depths, layer_depths


def _check_connected(inputs: list[Any], nodes_by_depth: dict[int, list[Node]]) -> None:
    computable = {id(x) for x in inputs}
    accessed: list[str] = []
    for depth in sorted(nodes_by_depth, reverse=True):
        for node in nodes_by_depth[depth]:
            for x in nest.flatten(node.input_tensors):
                if id(x) not in computable:
                    raise ValueError(
                        f"Graph disconnected: cannot obtain value for tensor {x} at layer "
                        f'"{node.outbound_layer.name}". The following previous layers were '
                        f"accessed without issue: {accessed}"
                    )
            computable.update(id(x) for x in nest.flatten(node.output_tensors))
            accessed.append(node.outbound_layer.name)


def map_subgraph(inputs: list[Any], outputs: list[Any]) -> tuple[list[Node], list[Any]]:
    """Return the calls and layers between tensors; layers are made of operations."""
    create_history(outputs)
    found = map_graph(inputs, outputs)
    return nest.flatten(list(found.nodes_by_depth.values())), found.layers
