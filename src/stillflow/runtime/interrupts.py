"""What stops a run that would go on for ever: its time limit, or the session's end."""

from __future__ import annotations

import threading
from typing import Any

from stillflow import errors


class Interrupt:
    """A wish that a run ends, looked at by loops at each turn."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: errors.OpError | None = None

    def fail(self) -> None:
        """Raises the error that was left."""
        assert self.error is not None
        kind: Any = type(self.error)
        raise kind(None, None, self.error.message)


_NEVER = Interrupt()
_of_thread = threading.local()


def current_interrupt() -> Interrupt:
    """That of the run in this thread; one that never comes if it has no limit."""
    found: Interrupt = getattr(_of_thread, "interrupt", _NEVER)
    return found
