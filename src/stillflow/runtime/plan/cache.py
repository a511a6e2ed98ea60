"""Plans of one kind of run, kept by the shapes of what it is fed.

    plans = PlanCache()
    plan = plans.find(shapes) or plans.get(shapes, make)

At most `shape_policy.MOST` plans are kept for exact shapes, and one for the sizes that all runs
share.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from stillflow.runtime.plan.shape_policy import AT_ONCE, SeenShapes
from stillflow.runtime.plan.shape_policy import Shapes as Shapes

Plan = TypeVar("Plan")


class PlanCache(Generic[Plan]):
    """The plans for one set of fetches and feeds.

    Args:
      at_once: how many shapes get a plan of their own when they first come.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._seen = SeenShapes(at_once)
        self._plans: dict[Shapes, Plan] = {}
        self._shared: Shapes | None = None  # what the plan for several shapes relies on
        self._lock = threading.RLock()  # a plan may be made while another is

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, shapes: Shapes) -> Plan | None:
        """Return the plan of exactly these shapes, if there is one."""
        return self._plans.get(shapes)

    def get(self, shapes: Shapes, make: Callable[[Shapes], Plan]) -> Plan:
        """Return the plan for these shapes.

        Args:
          shapes: of all that is fed, without unknown sizes.
          make: compiles a plan that relies on shapes; None stands for a size that may be any.
        """
        with self._lock:
            relied = self._seen.rely_on(shapes)
            plan = self._plans.get(relied)
            if plan is None:
                with _garbage_kept():
                    plan = self._plans[relied] = make(relied)
            if relied != shapes and relied != self._shared:
                if self._shared is not None:  # it relied on sizes that differ now
                    self._plans.pop(self._shared, None)
                self._shared = relied
            return plan

    def clear(self) -> None:
        """Drop the plans, since the graph or its variables changed; shapes are remembered."""
        with self._lock:
            self._plans.clear()
            self._shared = None


class PlanCaches(Generic[Plan]):
    """Plan caches by a key, such as the fetches and feeds of a session.

    Args:
      at_once: how many shapes get a plan of their own when they first come.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._caches: dict[Any, PlanCache[Plan]] = {}

    def find(self, key: Any, shapes: Shapes) -> Plan | None:
        """Return the plan for exactly these shapes, if there is one."""
        cache = self._caches.get(key)
        return None if cache is None else cache._plans.get(shapes)

    def get(self, key: Any, shapes: Shapes, make: Callable[[Shapes], Plan]) -> Plan:
        """Return the plan to run these shapes, as `PlanCache.get` does."""
        if key not in self._caches:
            self._caches[key] = PlanCache(self._at_once)
        return self._caches[key].get(shapes, make)

    def clear(self) -> None:
        """Drop the plans, since the graph changed; shapes are remembered."""
        for cache in list(self._caches.values()):
            cache.clear()


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Keep the garbage collector off: a plan is made of many objects at once, and all live on.

    It takes a fifth of the time to find that out.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
