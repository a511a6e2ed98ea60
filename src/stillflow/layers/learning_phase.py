"""Learning phase of a graph: training or not, where a layer does not get the argument."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.layers.symbolic_graph import in_symbolic_graph, symbolic_graph
from stillflow.ops.constants import placeholder_with_default

phases: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """0 or 1 if it was set; else the graph's placeholder, False if it is not fed."""
    if in_symbolic_graph():
        return symbolic_learning_phase()
    with init_scope():
        graph = get_default_graph()
        return phases.get(graph, 0) if graph.runs_at_once else symbolic_learning_phase()


def symbolic_learning_phase() -> Tensor | int:
    """Return the same, of the graph that Keras builds models in."""
    graph = symbolic_graph()
    if graph not in phases:
        with graph.as_default(), name_scope(""):
            phases[graph] = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return phases[graph]


def is_set_at_once() -> bool:
    """Return True if a phase was set in eager execution."""
    with init_scope():
        graph = get_default_graph()
        return graph.runs_at_once and graph in phases


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: Any) -> None:
    """Fix the default graph's phase: 1 for training, 0 for use.

    Raises:
      ValueError: if it is another number.
    """
    if value not in {0, 1}:
        raise ValueError("Expected learning phase to be 0 or 1.")
    with init_scope():
        for graph in _graphs():
            phases[graph] = value


@export("keras.backend.learning_phase_scope")
@contextlib.contextmanager
def learning_phase_scope(value: Any) -> Iterator[None]:
    """Return a context with a phase, 0 or 1.

    Raises:
      ValueError: if it is another number.
    """
    with init_scope():
        graphs = _graphs()
        before = [phases.get(graph) for graph in graphs]
    try:
        set_learning_phase(value)
        yield
    finally:
        _put_back(graphs, before)


@contextlib.contextmanager
def immediate_learning_phase(value: int) -> Iterator[None]:
    """Return a context with a phase in eager execution, not in Keras' own graph."""
    with init_scope():
        graphs = [get_default_graph()]
    before = [phases.get(graphs[0])]
    phases[graphs[0]] = value
    try:
        yield
    finally:
        _put_back(graphs, before)


def _graphs() -> list[Any]:
    """Return the default graph and that in which Keras builds models; mostly they are the same."""
    graph = get_default_graph()
    return [graph, symbolic_graph()] if graph.runs_at_once else [graph]


def _put_back(graphs: list[Any], values: list[Any]) -> None:
    for graph, value in zip(graphs, values, strict=True):
        if value is not None:
            phases[graph] = value
        else:
            phases.pop(graph, None)
