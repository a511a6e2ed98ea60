"""Threads that wait for something to do: one that is free is used before another is made.

Steps may wait in a queue forever, so there is no limit. A thread's resources for its kernels
(OpenMP's own threads, say) are reused by the next step, so the thread that worked last goes first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from stillflow.util.threads import our_thread

Work = tuple[Callable[..., None], tuple[Any, ...]]

_free: list[SimpleQueue[Work]] = []


def hand_over(function: Callable[..., None], *arguments: Any) -> None:
    """Has a function called in another thread."""
    try:
        todo = _free.pop()
    except IndexError:
        todo = SimpleQueue()
        helping = threading.Thread(target=_help, args=(todo,), name="stillflow-task", daemon=True)
        our_thread(helping).start()
    todo.put((function, arguments))


def _help(todo: SimpleQueue[Work]) -> None:
    while True:
        function, arguments = todo.get()
        function(*arguments)
        del function, arguments  # not to hold them until there is more to do
        _free.append(todo)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_free.clear)
