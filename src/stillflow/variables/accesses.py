"""Notification of tapes and functions that a variable is read."""

from __future__ import annotations

from typing import Any

from stillflow.graph import tapes
from stillflow.graph.graph import get_default_graph


def variable_accessed(variable: Any) -> None:
    """Tell the tapes, and the function that is being built, that a resource variable is read."""
    tapes.variable_accessed(variable)
    graph = get_default_graph()
    if graph.building_function and hasattr(graph, "watch_variable"):
        graph.watch_variable(variable)
