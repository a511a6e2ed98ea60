"""State of datasets that outlives their iterators: seeds of shuffles, memory of caches.

This is so after `tf.enable_v2_behavior`: each iterator of a shuffled dataset has its own order, and
a second one gives the elements that the first one put into a cache.
"""

from __future__ import annotations

from typing import Any

from stillflow.eager import v2_behavior
from stillflow.graph.card import Card
from stillflow.graph.graph import get_default_graph


def outlives_iterators() -> bool:
    """Return True if state of datasets that are made here does."""
    graph = get_default_graph()
    return v2_behavior.is_enabled and (graph.runs_at_once or graph.building_function)


class Owned:
    """A resource of its own, which lives as long as the program keeps this.

    Args:
      make: the operation that gives a handle and a deleter.
      delete: the operation that takes them.
      arguments: of `make`.
    """

    def __init__(self, make: Card, delete: Card, *arguments: Any) -> None:
        made = make(*arguments)
        self.handle = made.handle
        if not get_default_graph().runs_at_once:  # there it goes with its handle
            self._deleter = Deleter(delete, made)


class Deleter:
    """Owner of the operation that deletes a function's resource when the program forgets it.

    Args:
      delete: the operation.
      made: the resource's handle and deleter.
    """

    def __init__(self, delete: Card, made: Any) -> None:
        self._delete = delete
        self._made = made

    def __del__(self) -> None:
        if self._made.handle.graph is get_default_graph():
            self._delete(self._made.handle, self._made.deleter)
