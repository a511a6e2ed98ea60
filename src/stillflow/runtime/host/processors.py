"""Number of processors for a plan's kernels while other programs run too.

Threads that share a kernel wait for each other at its end; if one of them has no processor, all
wait until the system gives it one, kernel after kernel. Then fewer threads are faster: on a machine
with other work, steps of small kernels in one thread may take a tenth of the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_WINDOW = 0.1  # seconds from one look to the next
_COST = 0.01  # the share of time that looking may take
# From so many threads on that wait for a processor on average, there are too many.
_TOO_MANY = 0.2
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds until one more is tried


class Processors:
    """Answers how many threads to use, from how long those of the process have waited.

    Args:
      most: the number to begin with, and never to exceed.
      waited: says for how many seconds threads of the process have waited for a processor so far,
        all together; None where the system does not say.
      clock: the time in seconds.
    """

    def __init__(
        self,
        most: int,
        waited: Callable[[], float | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = self._count = most
        self._clock, self._waited = clock, waited or seconds_waited
        self._seen = self._waited()
        self._since = clock()
        self._next = self._since + _WINDOW if self._seen is not None and most > 1 else float("inf")
        self._pause, self._more_at = _FIRST_PAUSE, 0.0
        self._is_trying = False  # whether one more was added at the last look

    def count(self) -> int:
        """Return the number of threads to use now."""
        if self._clock() >= self._next:
            self._look()
        return self._count

    def _look(self) -> None:
        now, before = self._clock(), self._seen
        self._seen = self._waited()
        if self._seen is None or before is None:
            self._next = float("inf")
            return
        waiting = (self._seen - before) / (now - self._since)
        if waiting > _TOO_MANY and self._count > 1:
            self._take_fewer(now, waiting)
        elif self._count < self._most and now >= self._more_at:
            self._count += 1
            self._is_trying = True
            self._more_at = now + _WINDOW
        elif self._count == self._most:
            self._pause, self._is_trying = _FIRST_PAUSE, False
        self._since = self._clock()
        self._next = self._since + max(_WINDOW, (self._since - now) / _COST)

    def _take_fewer(self, now: float, waiting: float) -> None:
        self._count = max(1, self._count - max(1, round(waiting)))
        if self._is_trying:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._more_at, self._is_trying = now + self._pause, False


def seconds_waited() -> float | None:
    """Return the time that this process's present threads have waited for a processor."""
    total = 0
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
                    total += int(file.read().split()[1])
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
    except (OSError, IndexError, ValueError):
        return None
    return total / 1e9
