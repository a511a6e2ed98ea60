"""Policy about sizes of the feeds that a plan may rely on.

A plan for exactly the shapes of a run is the fastest one, but programs that pad sequences feed
another length at every step, and making a plan takes as long as many steps. So from the third
shape on a plan relies only on the sizes that have been the same in all runs: a batch of 64, say,
of sequences of any length. A shape that comes again and again still gets a plan of its own.
"""

from __future__ import annotations

from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import relax

# Shapes that get plans of their own at once, shapes that do at all, and the runs that earn one.
AT_ONCE, MOST, EARNED = 2, 16, 12
_REMEMBERED = 1024

Shapes = tuple[Dims, ...]


class SeenShapes:
    """The shapes that one set of fetches was run with.

    Args:
      at_once: how many of them get plans of their own at once.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._exact: set[Shapes] = set()
        self._common: Shapes | None = None
        self._runs: dict[Shapes, int] = {}

    def rely_on(self, shapes: Shapes) -> Shapes:
        """Return the dims, None where any size will do, of the plan that is to run these shapes.

        Args:
          shapes: of all that is fed, without unknown sizes.
        """
        known = shapes if self._common is None else self._common
        self._common = tuple(relax(a, b) for a, b in zip(known, shapes, strict=True))
        if shapes in self._exact:
            return shapes
        if len(self._runs) >= _REMEMBERED:
            self._runs.clear()
        count = self._runs[shapes] = self._runs.get(shapes, 0) + 1
        if len(self._exact) < self._at_once or (len(self._exact) < MOST and count > EARNED):
            self._exact.add(shapes)
            return shapes
        return self._common
