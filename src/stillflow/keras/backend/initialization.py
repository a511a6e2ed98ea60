"""The variables that Keras initializes by itself, before a session of its own runs anything."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.util.weak import LiveSet

_variables: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()
_optimizers: weakref.WeakKeyDictionary[Any, LiveSet[Any]] = weakref.WeakKeyDictionary()
_by_hand = False


@export("keras.backend.manual_variable_initialization")
def manual_variable_initialization(value: bool) -> None:
    """Says whether the program initializes all variables itself."""
    global _by_hand
    _by_hand = value


def initializes_by_hand() -> bool:
    """Return True if the program initializes all variables itself."""
    return _by_hand


def track_variable(variable: Any) -> None:
    """Make Keras initialize a variable."""
    graph = getattr(variable, "graph", None) or get_default_graph()
    _variables.setdefault(graph, {})[id(variable)] = weakref.ref(variable)


def track_tf_optimizer(optimizer: Any) -> None:
    """Make Keras initialize the variables of a wrapped optimizer of tf.train."""
    _optimizers.setdefault(get_default_graph(), LiveSet()).add(optimizer)


def forget_graph(graph: Any) -> None:
    """Forget the variables of a graph."""
    _variables.pop(graph, None)
    _optimizers.pop(graph, None)


def _tracked(graph: Any) -> Iterator[Any]:
    for reference in list(_variables.get(graph, {}).values()):
        variable = reference()
        if variable is not None:
            yield variable
    for optimizer in _optimizers.get(graph, ()):
        yield from optimizer.optimizer.variables()


def initialize_variables(session: Any) -> None:
    """Initialize those of the session's graph that have no value yet."""
    from stillflow.variables.collections import variables_initializer
    from stillflow.variables.state_ops import is_initialized

    fresh = [v for v in _tracked(session.graph) if not getattr(v, "_keras_initialized", False)]
    if not fresh:
        return
    flags = session.run([is_initialized(v) for v in fresh])
    for variable in fresh:
        variable._keras_initialized = True
    missing = [v for flag, v in zip(flags, fresh, strict=True) if not flag]
    if missing:
        session.run(variables_initializer(missing))
