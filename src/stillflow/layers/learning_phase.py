"""Whether the graph is being trained, where a layer is not told."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import placeholder_with_default

phases: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """0 or 1 if it was set; else the graph's placeholder, False if it is not fed."""
    if not get_default_graph().runs_at_once and get_default_graph() in phases:
        return phases[get_default_graph()]
    with init_scope():
        return symbolic_learning_phase()


def symbolic_learning_phase() -> Any:
    """The same, of the default graph even while a function is being made."""
    graph = get_default_graph()
    if graph.runs_at_once:
        return phases.get(graph, 0)
    if graph not in phases:
        with name_scope(""):
            phases[graph] = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return phases[graph]


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: Any) -> None:
    """Fixes the default graph's phase: 1 for training, 0 for use.

    Raises:
      ValueError: if it is another number.
    """
    if value not in {0, 1}:
        raise ValueError("Expected learning phase to be 0 or 1.")
    with init_scope():
        phases[get_default_graph()] = value


@export("keras.backend.learning_phase_scope")
@contextlib.contextmanager
def learning_phase_scope(value: Any) -> Iterator[None]:
    """A context with a phase, 0 or 1.

    Raises:
      ValueError: if it is another number.
    """
    with init_scope():
        before = phases.get(get_default_graph())
    try:
        set_learning_phase(value)
        yield
    finally:
        with init_scope():
            if before is not None:
                phases[get_default_graph()] = before
            else:
                phases.pop(get_default_graph(), None)
