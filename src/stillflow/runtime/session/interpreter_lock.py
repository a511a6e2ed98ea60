"""Runs in programs that have other Python threads, which need the interpreter's lock.

A kernel releases the lock for microseconds. A waiting thread is woken by that, finds the lock taken
again and waits on, so that threads that prepare data would starve for many runs. So a run begins
and ends with a slot for the others: this thread sleeps for a moment, once in as long as Python lets
any thread have the lock, and less often while nobody uses the slot.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from time import perf_counter, sleep  # the tests of programs replace time.sleep
from typing import Any

import numpy as np

from stillflow.graph.operation import Tensor
from stillflow.runtime.session.fetches import Fetches
from stillflow.util.threads import ACTIVE, is_alone

__all__ = ["ACTIVE", "Turns", "in_turns"]

_MOMENT = 20e-6  # time of a waiting thread to wake up and take the lock
_TAKEN = 300e-6  # a sleep that long was no sleep: another thread had the lock
_LONGEST = 20e-3  # between turns that nobody takes; each costs four moments or so
_HELD_ANYWAY = 500  # up to so many elements NumPy copies without letting go of the lock


class Turns:
    """The times at which one thread lets go of the lock."""

    def __init__(self) -> None:
        self._next = self._pause = 0.0

    def give(self) -> None:
        """Let other threads run, unless they had their turn just now."""
        begun = perf_counter()
        if begun < self._next:
            return
        sleep(_MOMENT)
        ended = perf_counter()
        interval, taken = sys.getswitchinterval(), ended - begun
        if taken > _TAKEN:
            self._pause = max(interval, taken)
        else:
            self._pause = min(max(2 * self._pause, interval), _LONGEST)
        self._next = ended + self._pause


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.turns = Turns()


_of_thread = _OfThread()


def in_turns(
    plan: Callable[..., list[Any]], fetches: Fetches, feeds: Mapping[Tensor, np.ndarray]
) -> list[Any]:
    """Run a plan on the present feeds, between two slots of other threads.

    Other threads may fill the arrays again while the run goes on; of a tensor that is fed and
    fetched the result is the program's array.
    """
    if is_alone():
        return plan(*feeds.values())
    turns = _of_thread.turns
    turns.give()
    given = [value if key in fetches.tensors else _snapshot(value) for key, value in feeds.items()]
    try:
        return plan(*given)
    finally:
        turns.give()


def _snapshot(array: np.ndarray) -> np.ndarray:
    """Return the values of an array in memory that nobody else changes."""
    if not (array.flags.writeable and array.size):
        return array
    if array.size <= _HELD_ANYWAY or array.dtype.hasobject or not array.flags.c_contiguous:
        return array.copy()
    copy = np.empty(array.shape, array.dtype)
    # NumPy's own copy lets go of the lock, and of two arrays one would be of another moment.
    memoryview(_bytes(copy))[:] = memoryview(_bytes(array))
    return copy


def _bytes(array: np.ndarray) -> Any:
    return array.reshape(-1).view(np.uint8)
