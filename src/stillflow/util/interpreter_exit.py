"""Threads that still compute when the program ends.

Threads of queue runners are daemons: Python does not wait for them, and one that is inside a torch
kernel when the interpreter is taken down aborts the process. So the end of the program waits until
such threads are between two plans, and there they stay.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from types import TracebackType

_PATIENCE = 5.0  # seconds that the end of the program waits for a kernel

_working: dict[int, int] = {}  # thread -> how many plans it is in, one inside another
MAIN_THREAD = threading.main_thread().ident
_ending: int | None = None  # the thread that ends the program


class AtWork:
    """A context in which this thread runs kernels."""

    __slots__ = ()

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if thread != MAIN_THREAD:
            _begin(thread)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        thread = threading.get_ident()
        if thread != MAIN_THREAD:
            depth = _working.pop(thread, 1) - 1
            if depth:
                _working[thread] = depth


class Resting:
    """A context in which a thread that is at work waits, in no kernel."""

    __slots__ = ("_depth",)

    def __enter__(self) -> None:
        self._depth = _working.pop(threading.get_ident(), 0)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._depth:
            thread = threading.get_ident()
            _begin(thread)
            _working[thread] = self._depth


def _begin(thread: int) -> None:
    _working[thread] = _working.get(thread, 0) + 1
    if _ending not in (None, thread):
        _working.pop(thread)
        while True:  # the process is about to go
            time.sleep(3600)


def _drain() -> None:
    global _ending
    _ending = threading.get_ident()
    _working.pop(_ending, None)
    limit = time.monotonic() + _PATIENCE
    while _working and time.monotonic() < limit:
        time.sleep(0.001)


at_work = AtWork()
atexit.register(_drain)
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_working.clear)
