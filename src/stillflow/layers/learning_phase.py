"""Whether the graph is being trained, where a layer is not told."""

from __future__ import annotations

import weakref
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.graph import get_default_graph
from stillflow.ops.constants import placeholder_with_default

_phases: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def learning_phase() -> Any:
    """The default graph's placeholder for whether it is being trained: False if not fed."""
    graph = get_default_graph()
    if graph not in _phases:
        with name_scope(""):
            _phases[graph] = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return _phases[graph]
