"""The switch between graphs and eager execution.

Stillflow has no eager execution but in the functions of `tf.py_function` (`eager/immediate.py`). A
program may nevertheless ask for it and then build its graphs explicitly, as TF programs do; only an
operation called where it would run at once is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow import errors
from stillflow.graph import graph as graphs
from stillflow.graph.export import export
from stillflow.graph.graph import Graph

DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN = 0, 1
DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = 2, 3
SYNC, ASYNC = 0, 1


class EagerContext(Graph):
    """Stands among the default graphs where operations would run at once."""

    def add_op(self, card: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuses the operation.

        Raises:
          UnimplementedError: always.
        """
        raise errors.UnimplementedError(
            None,
            None,
            f"The operation {card.name} would run eagerly: Stillflow builds graphs and runs them "
            "in sessions; it has no eager execution. Build it inside `with tf.Graph().as_default()`"
            ", or leave out tf.enable_eager_execution().",
        )


@export("executing_eagerly")
def executing_eagerly() -> bool:
    """Whether operations called now would run at once, outside of any graph."""
    return isinstance(graphs.get_default_graph(), EagerContext)


def executing_eagerly_outside_functions() -> bool:
    """Whether operations called outside of the functions being built would run at once."""
    return isinstance(graphs.initial_graph(), EagerContext)


@export("enable_eager_execution")
def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Makes graphs something to be asked for; operations outside of them are then refused.

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
    if graphs.make_global_graph is EagerContext:
        return
    if graphs.has_global_graph():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    graphs.make_global_graph = EagerContext


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Makes a graph the default again, as it is from the start."""
    if graphs.make_global_graph is EagerContext:
        graphs.make_global_graph = Graph
        graphs.forget_global_graph()


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """A context in which operations would run at once, and are refused."""
    with EagerContext().as_default():
        yield


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A context in which operations are added to a graph."""
    if executing_eagerly():
        with Graph().as_default():
            yield
    else:
        yield
