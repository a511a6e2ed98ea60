"""Attempts to put into a queue or take from it, which wait for their turn in order."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import Any

from stillflow import errors

_private_names = itertools.count()


def private_name(node_name: str) -> str:
    """Return the name in messages of a queue without a shared name.

    Each call counts one more queue.
    """
    return f"_{next(_private_names)}_{node_name}"


class Attempt:
    """One wish: `run` is tried, under the queue's lock, until it returns True.

    It may do a part of its work and return None where that may let others go on, or False where
    it could do nothing.
    """

    __slots__ = ("done", "error", "finished", "kind", "left", "taken")

    def __init__(self, kind: str, left: int) -> None:
        self.kind = kind
        self.left = left  # elements still to be put or taken
        self.taken: list[Any] = []
        self.error: errors.OpError | None = None
        self.finished = False
        self.done: threading.Lock | None = None  # released at the end, where somebody waits

    def run(self) -> bool | None:
        raise NotImplementedError

    def give_back(self) -> None:
        """Undo a partial attempt: it was cancelled."""

    def finish(self, error: errors.OpError | None = None) -> bool:
        """Mark the end and wake the waiting threads."""
        self.finished = True
        self.error = error
        if self.done is not None:
            self.done.release()
        return True


class Attempts:
    """Pending attempts of two kinds, those that put and those that take, each in order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.putting: deque[Attempt] = deque()
        self.taking: deque[Attempt] = deque()
        self._lines: list[deque[Attempt]] = []

    def add_line(self) -> deque[Attempt]:
        """Return another line of attempts that take, in addition to `taking`."""
        line: deque[Attempt] = deque()
        with self.lock:
            self._lines.append(line)
        return line

    def remove_line(self, line: deque[Attempt]) -> None:
        """Remove a line; lines are compared by identity, not by their content."""
        with self.lock:
            self._lines = [other for other in self._lines if other is not line]

    def submit(self, attempt: Attempt, pending: deque[Attempt], waits: Any) -> None:
        """Execute an attempt; wait in line where that is not possible at once.

        Raises:
          CancelledError: the session was closed, or what waits was cancelled.
          DeadlineExceededError: the run took longer than it may.
          tf.errors.OpError: the error of the attempt.
        """
        self.begin(attempt, pending)
        self.finish(attempt, pending, waits)

    def begin(self, attempt: Attempt, pending: deque[Attempt]) -> None:
        """Queue an attempt; another thread may execute it later."""
        with self.lock:
            pending.append(attempt)
            self._flush()
            if not attempt.finished:
                attempt.done = threading.Lock()
                attempt.done.acquire()

    def finish(self, attempt: Attempt, pending: deque[Attempt], waits: Any) -> None:
        """Wait for the end of an attempt that was begun; raise the errors of `submit`."""
        if attempt.done is not None:
            self._wait(attempt, pending, waits)
        if attempt.error is not None:
            raise attempt.error

    def give_up(self, attempt: Attempt, pending: deque[Attempt]) -> None:
        """Remove a queued attempt, unless it is finished."""
        self._drop(attempt, pending, None)

    def _wait(self, attempt: Attempt, pending: deque[Attempt], waits: Any) -> None:
        def cancel(error: errors.OpError) -> None:
            if isinstance(error, errors.CancelledError):
                error = cancelled(attempt)
            self._drop(attempt, pending, error)

        try:
            waits.wait(attempt.done, cancel)
        except BaseException:  # Ctrl-C
            self._drop(attempt, pending, None)
            raise

    def _drop(
        self, attempt: Attempt, pending: deque[Attempt], error: errors.OpError | None
    ) -> None:
        with self.lock:
            if attempt.finished:
                return
            attempt.give_back()
            pending.remove(attempt)
            attempt.finish(error)
            self._flush()

    def _flush(self) -> None:
        """Execute the first attempt of each kind as long as any makes progress."""
        changed = True
        while changed:
            changed = self._try(self.putting)
            changed = self._try(self.taking) or changed
            for line in self._lines:
                changed = self._try(line) or changed

    @staticmethod
    def _try(pending: deque[Attempt]) -> bool:
        progress = False
        while pending:
            result = pending[0].run()
            if not result:
                return progress or result is None
            pending.popleft()
            progress = True
        return progress

    def cancel_putting(self) -> None:
        """Fail all attempts that wait to put something."""
        for attempt in self.putting:
            attempt.finish(cancelled(attempt))
        self.putting.clear()


class Begun:
    """A context for a run: at its end it waits for the attempts that were left to it."""

    def __init__(self) -> None:
        self._left: list[tuple[Attempts, Attempt, deque[Attempt], Any]] = []

    def __enter__(self) -> Begun:
        self._before = getattr(_of_thread, "begun", None)
        _of_thread.begun = self
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        _of_thread.begun = self._before
        while self._left:
            attempts, attempt, pending, waits = self._left.pop(0)
            try:
                if kind is None:
                    attempts.finish(attempt, pending, waits)
                else:
                    attempts.give_up(attempt, pending)
            except BaseException:
                for attempts, attempt, pending, _ in self._left:
                    attempts.give_up(attempt, pending)
                raise

    @staticmethod
    def leave(attempts: Attempts, attempt: Attempt, pending: deque[Attempt], waits: Any) -> None:
        """Begins an attempt, and leaves the waiting to the end of this thread's run."""
        attempts.begin(attempt, pending)
        run: Begun = _of_thread.begun
        run._left.append((attempts, attempt, pending, waits))


_of_thread = threading.local()


def cancelled(attempt: Attempt) -> errors.OpError:
    return errors.cancelled(f"{attempt.kind} operation was cancelled")
