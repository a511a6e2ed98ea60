"""``tensorflow.python.eager.context``: graphs, and operations that run when they are called."""

from __future__ import annotations

from typing import Any

from stillflow.eager import callbacks
from stillflow.eager.devices_and_modes import (
    async_clear_error,
    async_wait,
    execution_mode,
    num_gpus,
    set_execution_mode,
)
from stillflow.eager.placement_log import get_log_device_placement, set_log_device_placement
from stillflow.graph.eager_mode import (
    ASYNC,
    DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32,
    DEVICE_PLACEMENT_WARN,
    SYNC,
    eager_mode,
    executing_eagerly,
    graph_mode,
)

__all__ = [
    "ASYNC", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT",
    "DEVICE_PLACEMENT_SILENT_FOR_INT32", "DEVICE_PLACEMENT_WARN", "SYNC", "async_clear_error",
    "async_wait", "eager_mode", "executing_eagerly", "execution_mode", "get_log_device_placement",
    "graph_mode", "num_gpus", "set_execution_mode", "set_log_device_placement",
]  # fmt: skip

GRAPH_MODE, EAGER_MODE = 0, 1


in_eager_mode = executing_eagerly


def ensure_initialized() -> None:
    """Do nothing: there is nothing to wait for."""


def global_seed() -> int | None:
    """Return the seed of operations that run when they are called."""
    seed: int | None = _eager_graph().seed
    return seed


def set_global_seed(seed: int | None) -> None:
    """Set the seed of operations that run when they are called."""
    _eager_graph().seed = seed


def internal_operation_seed() -> int:
    """Return the next seed for an operation that has none."""
    seed: int = _eager_graph().next_op_seed()
    return seed


def _eager_graph() -> Any:
    from stillflow.eager.immediate import context

    return context()


def shared_name(name: Any = None) -> Any:
    """Return the name by which a resource is shared: as given, but nothing is shared eagerly."""
    return "" if executing_eagerly() else name


def in_graph_mode() -> bool:
    """Return whether operations are added to a graph."""
    return not executing_eagerly()


def device(name: Any) -> Any:
    """Place operations on a device in this context."""
    from stillflow.graph.api import device as scope

    return scope(name)


class Context:
    """The one context there is."""

    executing_eagerly = staticmethod(executing_eagerly)
    in_eager_mode = staticmethod(in_eager_mode)
    in_graph_mode = staticmethod(in_graph_mode)
    num_gpus = staticmethod(num_gpus)
    ensure_initialized = staticmethod(ensure_initialized)
    add_post_execution_callback = staticmethod(callbacks.add_execution_callback)
    clear_post_execution_callbacks = staticmethod(callbacks.clear_execution_callbacks)
    device_policy = DEVICE_PLACEMENT_SILENT
    execution_mode = SYNC

    @property
    def device_name(self) -> str | None:
        """The device that scopes ask for, of operations that run when they are called."""
        from stillflow.graph.graph import get_default_graph

        asked = [s for s in get_default_graph()._device_functions_outer_to_inner if s]
        return str(asked[-1]) if asked else None

    @property
    def summary_writer(self) -> Any:
        """The writer of this thread's summaries, None if there is none."""
        from stillflow.summary.recording import state

        return state.writer

    @summary_writer.setter
    def summary_writer(self, writer: Any) -> None:
        from stillflow.summary.recording import state

        state.writer = writer

    @property
    def post_execution_callbacks(self) -> list[Any]:
        """What is called after each operation that runs when it is called."""
        return list(callbacks.active)

    @property
    def scope_name(self) -> str:
        """The name scope of eager execution."""
        from stillflow.graph.graph import get_default_graph

        name = get_default_graph().get_name_scope()
        return name + "/" if name else ""


_context = Context()


def context() -> Context:
    """Return the context."""
    return _context


def __getattr__(name: str) -> Any:
    from stillflow.runtime.devices import devices  # not before a program asks for devices
    from stillflow.runtime.session import settings

    for module in () if name.startswith("_") else (settings, devices):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
