"""Threads of the program, as opposed to those that work for us and never touch its arrays."""

from __future__ import annotations

import threading

from stillflow.util.weak import LiveSet

# All threads that run. To ask for its length costs a run less than `threading.active_count()`.
ACTIVE: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
_ours: LiveSet[threading.Thread] = LiveSet()


def our_thread(thread: threading.Thread) -> threading.Thread:
    """Mark a thread as one that runs none of the program's code; return it."""
    _ours.add(thread)
    return thread


def is_alone() -> bool:
    """Return True if no other thread runs code of the program."""
    return len(ACTIVE) <= 1 + sum(thread.is_alive() for thread in _ours)
