"""Interruption of endless runs: by the time limit, or by the session's end.

Loops check an interrupt at each iteration; waiting operations (queues, say) register a function to
be called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stillflow import errors
from stillflow.util.interpreter_exit import Resting

Wake = Callable[[errors.OpError], None]


class Interrupt:
    """A wish that a run ends."""

    __slots__ = ("_lock", "_waiting", "error")

    def __init__(self) -> None:
        self.error: errors.OpError | None = None
        self._lock = threading.Lock()
        self._waiting: dict[Wake, None] = {}  # by themselves: methods are equal, not the same

    def leave(self, error: errors.OpError) -> None:
        """Set an error for loops to raise, and wake waiting operations."""
        self.error = error
        with self._lock:
            waiting = list(self._waiting)
        for wake in waiting:
            wake(error)

    def watch(self, wake: Wake) -> None:
        """Call `wake` with the error at an interrupt; at once if there was one."""
        with self._lock:
            self._waiting[wake] = None
        if self.error is not None:
            wake(self.error)

    def forget(self, wake: Wake) -> None:
        """Undo `watch`."""
        with self._lock:
            self._waiting.pop(wake, None)

    def check(self) -> None:
        """Raise the error that was left, if any."""
        if self.error is not None:
            kind: Any = type(self.error)
            raise kind(None, None, self.error.message)


class Waits:
    """Waits of a session's operations: until they are done or the run is to end.

    Args:
      session: ends all runs of the session.
    """

    def __init__(self, session: Interrupt) -> None:
        self.session = session

    def wait(self, done: threading.Lock, cancel: Wake) -> None:
        """Wait until another thread releases `done`.

        Args:
          done: a lock that the caller has acquired.
          cancel: called, maybe in another thread, when the run is to end; it must release `done`.
        """
        limit = current_interrupt()
        watched = (self.session,) if limit is NEVER else (self.session, limit)
        for interrupt in watched:
            interrupt.watch(cancel)
        try:
            with Resting():
                done.acquire()
        finally:
            for interrupt in watched:
                interrupt.forget(cancel)

    def check(self) -> None:
        """Raise the error of a run that is to end."""
        self.session.check()
        current_interrupt().check()


NEVER = Interrupt()
_of_thread = threading.local()


def current_interrupt() -> Interrupt:
    """Return the interrupt of the run in this thread; one that never comes if it has no limit."""
    found: Interrupt = getattr(_of_thread, "interrupt", NEVER)
    return found


@contextmanager
def interrupted_by(interrupt: Interrupt) -> Iterator[None]:
    """Stop the computations of this thread inside of the context when `interrupt` occurs."""
    before = current_interrupt()
    _of_thread.interrupt = interrupt
    try:
        yield
    finally:
        _of_thread.interrupt = before


@contextmanager
def time_limit(milliseconds: int, message: str) -> Iterator[None]:
    """Stop this thread's computations by DeadlineExceededError after a while; 0 is no limit."""
    if milliseconds <= 0:
        yield
        return
    interrupt = Interrupt()

    def stop() -> None:
        interrupt.leave(errors.DeadlineExceededError(None, None, message))

    timer = threading.Timer(milliseconds / 1000, stop)
    timer.daemon = True
    timer.start()
    try:
        with interrupted_by(interrupt):
            yield
    finally:
        timer.cancel()
