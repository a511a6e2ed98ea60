"""``tensorflow.python.eager.context``: graphs, and operations that run when they are called."""

from __future__ import annotations

from typing import Any

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
    "DEVICE_PLACEMENT_SILENT_FOR_INT32", "DEVICE_PLACEMENT_WARN", "SYNC", "eager_mode",
    "executing_eagerly", "graph_mode",
]  # fmt: skip

GRAPH_MODE, EAGER_MODE = 0, 1


in_eager_mode = executing_eagerly


def in_graph_mode() -> bool:
    """Return whether operations are added to a graph."""
    return not executing_eagerly()


def num_gpus() -> int:
    """Return the number of GPUs."""
    from stillflow.testing.environment import is_gpu_available

    if not is_gpu_available():
        return 0
    import torch

    return max(1, torch.cuda.device_count())


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

    @property
    def device_name(self) -> None:
        """The device of eager execution: none."""

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
    from stillflow.runtime import devices, settings  # not before a program asks for devices

    for module in () if name.startswith("_") else (settings, devices):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
