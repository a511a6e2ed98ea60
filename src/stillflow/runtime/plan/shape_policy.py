"""Bounds of caches, and the policy about sizes of the feeds that a plan may rely on.

A plan for exactly the shapes of a run is the fastest one, but programs that pad sequences feed
another length at every step, and making a plan takes as long as many steps. So from the third
shape on a plan relies only on the sizes that have been the same in all runs: a batch of 64, say,
of sequences of any length. A shape that comes again and again still gets a plan of its own.
"""

from __future__ import annotations

from typing import TypeVar

from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import relax

# Shapes that get plans of their own at once, shapes that do at all, and the runs that earn one.
AT_ONCE, MOST, EARNED = 2, 16, 12
_REMEMBERED = 1024

Shapes = tuple[Dims, ...]
Key = TypeVar("Key")
Item = TypeVar("Item")


class Recent(dict[Key, Item | None]):
    """Bounded dict that drops the items used least recently, half of them at a time.

    The dict holds the items used since it was last full, so that looking one up takes as long as in
    any dict; those used before are found when they are missing there.

        found = cache[key]  # None if there is none
        if found is None:
            cache.put(key, found := make())

    Args:
      most: how many items are kept.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._half = max(1, most // 2)
        self._older: dict[Key, Item | None] = {}

    def __missing__(self, key: Key) -> Item | None:
        found = self._older.pop(key, None)
        if found is not None:
            self.put(key, found)
        return found

    def put(self, key: Key, item: Item) -> None:
        """Keep an item."""
        if len(self) >= self._half and key not in self:
            self._older = dict(self)
            super().clear()
        self[key] = item

    def kept(self) -> int:
        """Return the number of items."""
        return len(self) + len(self._older.keys() - self.keys())

    def clear(self) -> None:
        """Drop all items."""
        super().clear()
        self._older.clear()


class SeenShapes:
    """The shapes that one set of fetches was run with.

    Args:
      at_once: how many of them get plans of their own at once.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._exact: set[Shapes] = set()
        self._common: Shapes | None = None
        self._runs: Recent[Shapes, int] = Recent(_REMEMBERED)

    def rely_on(self, shapes: Shapes) -> Shapes:
        """Return the dims, None where any size will do, of the plan that is to run these shapes.

        Args:
          shapes: of all that is fed, without unknown sizes.
        """
        known = shapes if self._common is None else self._common
        self._common = tuple(relax(a, b) for a, b in zip(known, shapes, strict=True))
        if shapes in self._exact:
            return shapes
        count = (self._runs[shapes] or 0) + 1
        self._runs.put(shapes, count)
        if len(self._exact) < self._at_once or (len(self._exact) < MOST and count > EARNED):
            self._exact.add(shapes)
            return shapes
        return self._common
