"""The task whose function a coordinator runs in this thread."""

from __future__ import annotations

import threading
from typing import Any


class _OfThread(threading.local):
    context: Any = None


_of_thread = _OfThread()


def current() -> Any:
    """Return the `WorkerContext` of the task whose function this thread runs.

    None if it runs none.
    """
    return _of_thread.context


def set_current(context: Any) -> None:
    """Says which task's function this thread runs from now on; None for none."""
    _of_thread.context = context
