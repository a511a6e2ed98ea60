"""Errors of several threads, of which the one that says most is raised."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from stillflow import errors
from stillflow.platform import tf_logging as logging

_FOLLOWS_OTHERS = (errors.CancelledError,)  # of an error elsewhere
_HANDLED = (errors.AbortedError, errors.UnavailableError)  # by sessions that start again
_GRACE = 5  # seconds in which another thread can tell of a better reason


class ErrorRendezvous:
    """Errors of threads, kept until all of them have ended.

    Args:
      num_sources: how many threads there are.
    """

    def __init__(self, num_sources: int) -> None:
        self._num_sources = num_sources
        self._errors: dict[str, Any] = {}
        self._closing: threading.Timer | None = None

    def record_error(self, source: str, exc_info: Any, session: Any = None) -> None:
        """Record an error; those that monitored sessions recover from do not count.

        Args:
          source: the name of the thread.
          exc_info: of `sys.exc_info()`.
          session: closed some seconds later, so that others do not wait for this thread.
        """
        value = exc_info[1]
        if isinstance(value, _HANDLED):
            return
        self._errors[source] = exc_info
        logging.error("Error recorded from %s: %s", source, value)
        if session is not None and self._closing is None:
            self._closing = threading.Timer(_GRACE, _close, [session, value])
            self._closing.daemon = True
            self._closing.start()

    def record_done(self, source: str) -> None:
        """Record the end of a thread."""
        logging.info("%s marked as finished", source)
        self._errors.setdefault(source, None)

    @contextlib.contextmanager
    def catch_errors(self, source: str, session: Any = None) -> Iterator[None]:
        """Record errors inside, and do not raise them."""
        try:
            yield
        except Exception:
            self.record_error(source, sys.exc_info(), session)

    def raise_errors(self, timeout_sec: int = 0) -> None:
        """Raise the first error that is none of another's consequences; else the first one.

        Args:
          timeout_sec: how long to wait at most for all threads to end.
        """
        for _ in range(timeout_sec):
            if len(self._errors) == self._num_sources:
                break
            time.sleep(1)
        found = [error for error in self._errors.values() if error is not None]
        found.sort(key=lambda error: isinstance(error[1], _FOLLOWS_OTHERS))
        if found:
            logging.warning("Reraising captured error")
            raise found[0][1].with_traceback(found[0][2])


def _close(session: Any, reason: BaseException) -> None:
    logging.error("Closing session due to error %s", reason)
    try:
        session.close()
    except Exception:
        logging.error("Failed to close session after error. Other threads may hang.")
