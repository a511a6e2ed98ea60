"""Drawings of models: `tf.keras.utils.plot_model` and `model_to_dot`.

They need pydot (or pydot-ng, pydotplus) and the programs of Graphviz.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any

from stillflow import nest
from stillflow.graph.export import export
from stillflow.keras.engine.network import Network
from stillflow.keras.engine.topology import node_key
from stillflow.keras.layers.wrappers import Wrapper

_LIBRARIES = ("pydot_ng", "pydotplus", "pydot")
_MISSING = "Failed to import pydot. You must install pydot and graphviz for `pydotprint` to work."


def _pydot() -> Any:
    """Return the library, if it and Graphviz are there."""
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            pydot = importlib.import_module(name)
            try:
                pydot.Dot.create(pydot.Dot())
            except OSError:
                return None
            return pydot
    return None


@export("keras.utils.model_to_dot")
def model_to_dot(
    model: Any,
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
    subgraph: bool = False,
) -> Any:
    """Return a model as a graph of Graphviz.

    Args:
      show_shapes: whether the shapes of inputs and outputs are told.
      show_layer_names: whether the names of layers are told.
      rankdir: "TB" from top to bottom, "LR" from left to right.
      expand_nested: whether models in models are drawn as groups of layers.
      dpi: dots per inch.
      subgraph: whether it is to be a part of a graph.

    Returns:
      A `pydot.Dot`, or a `pydot.Cluster` for a part; None where there is no pydot in a notebook.

    Raises:
      ImportError: if pydot or Graphviz is not there.
    """
    pydot = _pydot()
    if pydot is None:
        if "IPython.core.magics.namespace" not in sys.modules:
            raise ImportError(_MISSING)
        print(_MISSING)
        return None
    drawing = _Drawing(pydot, show_shapes, show_layer_names, expand_nested)
    if subgraph:
        return drawing.part(model)
    dot = pydot.Dot()
    for name, value in (("rankdir", rankdir), ("concentrate", True), ("dpi", dpi)):
        dot.set(name, value)
    dot.set_node_defaults(shape="record")
    return drawing.draw(model, dot)


class _Drawing:
    """Drawing of models."""

    def __init__(self, pydot: Any, shapes: bool, names: bool, expand: bool) -> None:
        self._pydot, self._shapes, self._names, self._expand = pydot, shapes, names, expand

    def part(self, model: Any) -> Any:
        """Return a model as a group."""
        cluster = self._pydot.Cluster(style="dashed", graph_name=model.name)
        cluster.set("label", model.name)
        cluster.set("labeljust", "l")
        return self.draw(model, cluster)

    def draw(self, model: Any, dot: Any) -> Any:
        """Put the layers of a model, and the edges between them, into a graph."""
        if not model._is_graph_network:
            dot.add_node(self._pydot.Node(str(id(model)), label=model.name))
            return dot
        groups = {id(layer): self._add(layer, dot) for layer in model._layers}
        for layer in model._layers:
            for i, node in enumerate(layer._inbound_nodes):
                if node_key(layer.name, i) in model._network_nodes:
                    for source in nest.flatten(node.inbound_layers):
                        self._connect(source, layer, groups, dot)
        return dot

    def _add(self, layer: Any, dot: Any) -> Any:
        """Draws a layer; gives the nodes of the group that it became, if it became one."""
        inner = layer.layer if isinstance(layer, Wrapper) else layer
        nodes = None
        if self._expand and isinstance(inner, Network):
            group = self.part(inner)
            nodes = group.get_nodes()
            dot.add_subgraph(group)
        if nodes is None or inner is not layer:
            dot.add_node(self._pydot.Node(str(id(layer)), label=self._label(layer, nodes)))
        return nodes

    def _label(self, layer: Any, nodes: Any) -> str:
        name, kind = layer.name, type(layer).__name__
        if isinstance(layer, Wrapper) and nodes is None:
            name = f"{name}({layer.layer.name})"
            kind = f"{kind}({type(layer.layer).__name__})"
        label = f"{name}: {kind}" if self._names else kind
        if not self._shapes:
            return label
        return f"{label}\n|{{input:|output:}}|{{{{{_inputs(layer)}}}|{{{_outputs(layer)}}}}}"

    def _connect(self, source: Any, layer: Any, groups: dict[int, Any], dot: Any) -> None:
        start, end = groups.get(id(source)), groups[id(layer)]
        first = start[-1].get_name() if start else str(id(source))
        last = str(id(layer)) if end is None or isinstance(layer, Wrapper) else end[0].get_name()
        self._edge(dot, first, last)
        if end and isinstance(layer, Wrapper) and not start:
            self._edge(dot, last, end[0].get_name())

    def _edge(self, dot: Any, start: str, end: str) -> None:
        if not dot.get_edge(start, end):
            dot.add_edge(self._pydot.Edge(start, end))


def _shape(shape: Any) -> str:
    return str(shape).replace("None", "?")


def _outputs(layer: Any) -> str:
    try:
        return _shape(layer.output_shape)
    except AttributeError:
        return "?"


def _inputs(layer: Any) -> str:
    if hasattr(layer, "input_shape"):
        return _shape(layer.input_shape)
    if hasattr(layer, "input_shapes"):
        return ", ".join(_shape(shape) for shape in layer.input_shapes)
    return "?"


@export("keras.utils.plot_model")
def plot_model(
    model: Any,
    to_file: str = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> Any:
    """Draws a model into a file.

    Args:
      to_file: its ending tells the format.
      others: see `model_to_dot`.

    Returns:
      An image for notebooks where IPython is there.

    Raises:
      ImportError: if pydot or Graphviz is not there.
    """
    dot = model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi)
    if dot is None:
        return None
    dot.write(to_file, format=os.path.splitext(to_file)[1][1:] or "png")
    with contextlib.suppress(ImportError):
        return importlib.import_module("IPython.display").Image(filename=to_file)
    return None
