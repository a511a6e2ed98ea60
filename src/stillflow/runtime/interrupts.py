"""What stops a run that would go on for ever: its time limit, or the session's end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillflow import errors


class Interrupt:
    """A wish that a run ends; loops look at it at each turn."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: errors.OpError | None = None

    def check(self) -> None:
        """Raises the error that was left, if any."""
        if self.error is not None:
            kind: Any = type(self.error)
            raise kind(None, None, self.error.message)


_NEVER = Interrupt()
_of_thread = threading.local()


def current_interrupt() -> Interrupt:
    """That of the run in this thread; one that never comes if it has no limit."""
    found: Interrupt = getattr(_of_thread, "interrupt", _NEVER)
    return found


@contextmanager
def time_limit(milliseconds: int) -> Iterator[None]:
    """Ends what runs in this thread after a while; 0 is no limit.

    Raises:
      DeadlineExceededError: where the run looks for it, once the time is over.
    """
    if milliseconds <= 0:
        yield
        return
    interrupt, before = Interrupt(), current_interrupt()

    def stop() -> None:
        interrupt.error = errors.DeadlineExceededError(
            None, None, "Timed out waiting for notification"
        )

    timer = threading.Timer(milliseconds / 1000, stop)
    timer.daemon = True
    _of_thread.interrupt = interrupt
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _of_thread.interrupt = before
