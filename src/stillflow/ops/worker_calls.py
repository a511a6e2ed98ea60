"""Calls of kernels by worker threads, or by the consumer of the result if it comes first."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import Any

import torch

from stillflow.util.interpreter_exit import at_work
from stillflow.util.threads import our_thread


class Pending:
    """Call of a kernel, by a worker thread or by the consumer of its result, whichever is first."""

    __slots__ = ("_arguments", "_done", "_error", "_function", "_taken", "_value")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._taken, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._error: Exception | None = None
        _helpers().put(self)

    def work(self) -> None:
        """Make the call, unless somebody else does."""
        if self._taken.acquire(blocking=False):
            try:
                self._value = self._function(*self._arguments)
            except Exception as error:
                self._error = error
            finally:
                self._arguments = ()
                self._done.release()

    def part_from_memory(self) -> None:
        """Copy the inputs of the call, so that they may be changed."""
        if self._taken.acquire(blocking=False):
            self._arguments = tuple(map(_copy, self._arguments))
            self._taken.release()
        else:
            with self._done:
                pass

    def result(self) -> Any:
        """Return the kernel's result; raise its error."""
        self.work()
        with self._done:
            if self._error is not None:
                raise self._error
            return self._value


@cache
def _helpers() -> SimpleQueue[Pending]:
    """Return the queue of calls, with threads that make them."""
    calls: SimpleQueue[Pending] = SimpleQueue()

    def help_out() -> None:
        with torch.inference_mode():
            while True:
                call = calls.get()
                with at_work:
                    call.work()
                del call  # not to hold its result until the next one comes

    for _ in range(max(1, processors() - 1)):
        our_thread(threading.Thread(target=help_out, name="stillflow-beside", daemon=True)).start()
    return calls


@cache
def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value
