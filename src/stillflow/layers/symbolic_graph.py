"""The graph of symbolic tensors where operations run when they are called: Keras' own."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.nest import flatten
from stillflow.util.weak import live_items
from stillflow.variables.base import VariableV2

_registered: set[type] = set()  # classes whose objects are taken for tensors
_own: weakref.WeakKeyDictionary[Graph, FuncGraph] = weakref.WeakKeyDictionary()


def symbolic_graph() -> Graph:
    """Return the graph in which models are built of placeholders, by default the default one.

    Where operations run when called it is Keras' own, which captures the variables.
    """
    graph = get_default_graph()
    if not graph.runs_at_once:
        return graph
    if graph not in _own:
        _own[graph] = FuncGraph("keras_graph")
    return _own[graph]


def in_symbolic_graph() -> bool:
    """Return True if the default graph is Keras' own, or a function's inside it."""
    graph = get_default_graph()
    while isinstance(graph, FuncGraph):
        if any(graph is own for _, own in live_items(_own)):
            return True
        graph = graph.outer_graph
    return False


def in_function() -> bool:
    """Return True if a function is being traced in eager execution."""
    if get_default_graph().runs_at_once or not executing_eagerly_outside_functions():
        return False
    return isinstance(get_default_graph(), FuncGraph) and not in_symbolic_graph()


def graph_of_symbolic(*structures: Any) -> Any:
    """Return the context of operations on tensors: Keras' own graph if some are symbolic."""
    if get_default_graph().runs_at_once and any(is_symbolic(x) for x in flatten(structures)):
        return symbolic_graph().as_default()
    return contextlib.nullcontext()


def forget_symbolic_graph() -> None:
    """Make Keras start another graph of its own."""
    _own.pop(get_default_graph(), None)


def register_symbolic_tensor_type(cls: type) -> None:
    """Have objects of a class taken for tensors; it needs a tensor conversion function, too."""
    _registered.add(cls)


def is_symbolic(x: Any) -> bool:
    """Return True for a tensor of a graph, and a variable or composite made of such."""
    if _registered and isinstance(x, tuple(_registered)):
        x = convert_to_tensor(x)
    if isinstance(x, Tensor):
        return not x.holds_value
    if isinstance(x, VariableV2):
        return not get_default_graph().runs_at_once
    if isinstance(x, CompositeTensor):
        return not all(
            getattr(part, "holds_value", False) for part in flatten(x, expand_composites=True)
        )
    return False
