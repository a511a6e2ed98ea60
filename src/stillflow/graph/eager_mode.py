"""The switch between graphs and eager execution.

`EagerContext` stands among the default graphs where operations run when they are called; a layer
above provides the executor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from stillflow._hooks import Hook
from stillflow.graph import graph as graphs
from stillflow.graph.device import check_valid, is_device_spec
from stillflow.graph.export import export, export_value
from stillflow.graph.graph import Graph

# The one context in which operations run when they are called, and its end.
context: Hook[Callable[[], Any]] = Hook("graph.eager_mode.context")
forget_context: Hook[Callable[[], None]] = Hook("graph.eager_mode.forget_context")

DEVICE_PLACEMENT_EXPLICIT = export_value("contrib.eager.DEVICE_PLACEMENT_EXPLICIT", 0)
DEVICE_PLACEMENT_WARN = export_value("contrib.eager.DEVICE_PLACEMENT_WARN", 1)
DEVICE_PLACEMENT_SILENT = export_value("contrib.eager.DEVICE_PLACEMENT_SILENT", 2)
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3
SYNC = export_value("contrib.eager.SYNC", 0)
ASYNC = export_value("contrib.eager.ASYNC", 1)


class _Era:
    """The time between two resets of the default graph."""


class EagerContext(Graph):
    """Entry for eager execution among the default graphs."""

    runs_at_once = True

    def __init__(self) -> None:
        super().__init__()
        self._era = _Era()
        self._of_sessions: Graph | None = None

    @property
    def of_sessions(self) -> Graph:
        """The graph of sessions that are given none."""
        if self._of_sessions is None:
            self._of_sessions = Graph()
        return self._of_sessions

    def device(self, device_name_or_function: Any) -> Any:
        """Asks for a device within the context.

        Raises:
          RuntimeError: it is a function.
          ValueError: it is no device's name.
        """
        name = device_name_or_function
        if callable(name):
            raise RuntimeError(
                "tf.device does not support functions when eager execution is enabled."
            )
        if name is not None and not isinstance(name, str) and not is_device_spec(name):
            raise ValueError(f"Expecting a string device name. Got {type(name)}({name})")
        if isinstance(name, str):
            check_valid(name)
        return super().device(name)

    @property
    def era(self) -> Any:
        return self._era

    def begin_anew(self) -> None:
        self._collections, self._era, self._of_sessions = {}, _Era(), None


def _context() -> Any:
    return context.value()


@export("executing_eagerly", "contrib.eager.executing_eagerly", "contrib.eager.in_eager_mode")
def executing_eagerly() -> bool:
    """Return True if operations called now would run at once, outside of any graph."""
    return graphs.runs_at_once()


def executing_eagerly_outside_functions() -> bool:
    """Return True if operations called outside of the functions being built would run at once."""
    return graphs.initial_graph().runs_at_once


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Make operations outside of graphs and functions run when they are called.

    Args:
      config: a `ConfigProto`.
      device_policy, execution_mode: one of TF's constants.

    Raises:
      TypeError, ValueError: if an argument is none of these, or a graph was built before.
    """
    if config is not None and type(config).__name__ != "ConfigProto":
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, *range(4)):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if execution_mode not in (None, SYNC, ASYNC):
        raise ValueError(
            "execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC"
        )
    if graphs.make_global_graph is _context:
        return
    if graphs.has_global_graph():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    graphs.make_global_graph = _context


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Make a graph the default again, as it is from the start."""
    if graphs.make_global_graph is _context:
        graphs.make_global_graph = Graph
        forget_context.value()
        graphs.forget_global_graph()


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Return a context in which operations run when they are called."""
    with _context().as_default():
        yield


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Return a context in which operations are added to a graph."""
    if executing_eagerly():
        with Graph().as_default():
            yield
    else:
        yield
