"""``tensorflow.python.eager.context``: there is one mode, the graph's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow import errors

GRAPH_MODE, EAGER_MODE = 0, 1
DEVICE_PLACEMENT_EXPLICIT = 0
DEVICE_PLACEMENT_WARN = 1
DEVICE_PLACEMENT_SILENT = 2
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3
SYNC, ASYNC = 0, 1


def executing_eagerly() -> bool:
    """Return False."""
    return False


def in_eager_mode() -> bool:
    """Return False."""
    return False


def in_graph_mode() -> bool:
    """Return True."""
    return True


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Build graphs in this context, as everywhere."""
    yield


def eager_mode() -> Any:
    """Refuse to run operations as they are called.

    Raises:
      UnimplementedError: always.
    """
    raise errors.UnimplementedError(
        None, None, "Stillflow builds graphs and runs them in sessions; it has no eager execution"
    )


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


_context = Context()


def context() -> Context:
    """Return the context."""
    return _context
