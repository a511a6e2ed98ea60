"""A session is opened in all of its tasks at once; those that are not there are waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from stillflow import errors
from stillflow.runtime import native_log
from stillflow.runtime.cluster.helpers import hand_over
from stillflow.runtime.interrupts import current_interrupt, interrupted_by
from stillflow.util.interpreter_exit import Resting

Task = tuple[str, int]

_TOLD_EVERY = 10.0  # seconds
_NAMED = 3  # missing tasks


def open_all(
    addresses: Mapping[Task, str], open_one: Callable[[Task, Callable[[], None]], Any],
    check: Callable[[], None],
) -> dict[Task, Any]:  # fmt: skip
    """Open a session in several tasks; return its accesses to them, in order.

    Args:
      addresses: of the tasks.
      open_one: opens it in one. Its second argument is called now and then, and raises an error
        once there is no need to wait for that task any more.
      check: raises what ends the waiting.

    Raises:
      tf.errors.OpError: the first error of a task, or of the limit of the run in this thread.
    """
    opening = _Opening(open_one, check)
    limit = current_interrupt()
    limit.watch(opening.end)
    try:
        for task in addresses:
            hand_over(opening.open, task, limit)
        return opening.wait(addresses)
    except BaseException:  # Ctrl-C too: nobody else would let the tasks forget the session
        opening.close()
        raise
    finally:
        limit.forget(opening.end)


class _Opening:
    """The accesses so far."""

    def __init__(
        self, open_one: Callable[[Task, Callable[[], None]], Any], check: Callable[[], None]
    ) -> None:
        self._open_one, self._check = open_one, check
        self._results: SimpleQueue[tuple[Any, Any, BaseException | None]] = SimpleQueue()
        self._found: dict[Task, Any] = {}
        self._is_over = False
        self._lock = threading.Lock()

    def open(self, task: Task, limit: Any) -> None:
        """Open the session in a task; in a thread of its own."""
        access: Any = None
        error: BaseException | None = None
        try:
            with interrupted_by(limit):
                access = self._open_one(task, self._go_on)
        except BaseException as raised:
            error = raised
        with self._lock:
            if not self._is_over:
                self._results.put((task, access, error))
            elif access is not None:
                access.close()

    def _go_on(self) -> None:
        if self._is_over:
            raise errors.cancelled("The session is not opened any more")
        self._check()

    def end(self, error: errors.OpError) -> None:
        """End the waiting with an error."""
        self._results.put((None, None, error))

    def wait(self, addresses: Mapping[Task, str]) -> dict[Task, Any]:
        """Return the accesses to all tasks; say now and then which are missing."""
        told = time.monotonic()
        while len(self._found) < len(addresses):
            try:
                with Resting():
                    left = max(0.0, told + _TOLD_EVERY - time.monotonic())
                    task, access, error = self._results.get(timeout=left)
            except Empty:
                told = time.monotonic()
                _tell(addresses, self._found)
                continue
            if error is not None:
                raise error
            self._found[task] = access
        return {task: self._found[task] for task in addresses}

    def close(self) -> None:
        """Close the session where it has been opened, or will be."""
        with self._lock:
            self._is_over = True
        while not self._results.empty():
            task, access, _ = self._results.get()
            self._found[task] = access
        for access in self._found.values():
            if access is not None:
                access.close()


def _tell(addresses: Mapping[Task, str], found: Mapping[Task, Any]) -> None:
    missing = [task for task in addresses if task not in found]
    names = [f"/job:{job}/task:{index} at {addresses[job, index]}" for job, index in missing]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    there, total = len(found) + 1, len(addresses) + 1  # with the task that the session names
    text = f"{there} of {total} tasks are there, waiting for {', '.join(names[:_NAMED])}{more}"
    native_log.info(text)
