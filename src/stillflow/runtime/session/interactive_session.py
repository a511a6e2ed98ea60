"""`tf.InteractiveSession`."""

from __future__ import annotations

import contextlib
import copy
import threading
import warnings
from typing import Any

from stillflow.graph import default_session
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.runtime.session.session import BaseSession


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default one from its construction until it is closed.

    Only the operations of a run are placed, so that a mistake in the graph can be worked around.

    Args:
      target, graph, config: as in `tf.Session`.

    Example:
      >>> session = tf.InteractiveSession()
      >>> print((tf.constant([1, 2]) * 3).eval())
      [3 6]
      >>> session.close()
    """

    _active_session_count = 0
    _count_lock = threading.Lock()

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, _interactive(config))
        self._graph_context = contextlib.ExitStack()
        self._explicitly_closed = False
        with InteractiveSession._count_lock:
            if InteractiveSession._active_session_count > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory "
                    "errors in some cases. You must explicitly call `InteractiveSession.close()` "
                    "to release resources held by the other session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active_session_count += 1
        if graph is not None:
            self._graph_context.enter_context(graph.as_default())
        default_session.push(self)

    def close(self) -> None:
        """Frees the session's state; the default session is the one before again."""
        super().close()
        with InteractiveSession._count_lock:
            if self._explicitly_closed:
                return
            self._explicitly_closed = True
            InteractiveSession._active_session_count -= 1
        default_session.remove(self)
        self._graph_context.close()


def _interactive(config: Any) -> Any:
    """Return the `ConfigProto` of a session that places only the operations of its runs."""
    from stillflow.protos import ConfigProto

    if config is not None and not isinstance(config, ConfigProto):
        return config  # it raises an error
    made = ConfigProto() if config is None else copy.deepcopy(config)
    made.graph_options.place_pruned_graph = True
    return made
