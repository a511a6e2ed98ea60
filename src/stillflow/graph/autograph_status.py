"""AutoGraph's status for the running code: it decides the advice that an error gives."""

from __future__ import annotations

import enum
import threading
from typing import Any


class Status(enum.Enum):
    """Status of the conversion of a function by AutoGraph."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[ControlStatusCtx] = []


_stack = _Stack()


class ControlStatusCtx:
    """A context in which the status is `status`."""

    def __init__(self, status: Status, options: Any = None) -> None:
        self.status = status
        self.options = options

    def __enter__(self) -> ControlStatusCtx:
        _stack.contexts.append(self)
        return self

    def __exit__(self, *details: object) -> None:
        assert _stack.contexts[-1] is self
        _stack.contexts.pop()


_unspecified = ControlStatusCtx(Status.UNSPECIFIED)


def control_status_ctx() -> ControlStatusCtx:
    """Return the innermost context of this thread."""
    return _stack.contexts[-1] if _stack.contexts else _unspecified
