"""Step in one task: the values that have arrived from others, and its abort."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.dtypes import DType
from stillflow.runtime.cluster import metrics
from stillflow.runtime.interrupts import Interrupt, Waits, interrupted_by

Send = Callable[[int, str, str, DType, Any, bool], None]

# Finished steps; tensors that arrive for them are discarded. Older ones are forgotten.
_REMEMBERED = 4096


class TaskStep(Interrupt):
    """One step in one task: a box for values from other tasks, and an interrupt for its run.

    Args:
      number: which step, the same in all tasks.
      send: takes the step's number, the device a value is for, its key, type and the value, and
        whether it may wait for the next one.
      flush: sends what waits.

    Attributes:
      ask: asks another task for the value of a key, where tasks have to be asked.
    """

    __slots__ = ("_arrived", "_box", "_expected", "_number", "_send", "ask", "flush")

    def __init__(self, number: int, send: Send, flush: Callable[[], None]) -> None:
        super().__init__()
        self._number, self._send, self.flush = number, send, flush
        self._box = threading.Lock()
        self._arrived: dict[str, Any] = {}
        self._expected: dict[str, threading.Lock] = {}
        self.ask: Callable[[str], None] | None = None

    def send(self, device: str, key: str, dtype: DType, more: bool, value: Any) -> None:
        """Send a value to the task of a device; with `more`, before this step waits or ends.

        Raises:
          tf.errors.OpError: the error that ended the step; UnavailableError if the task is not
            reachable any more.
        """
        self.check()
        self._send(self._number, device, key, dtype, value, more)

    def put(self, key: str, value: Any) -> None:
        """Store a value that arrived."""
        if metrics.shown is not None:
            metrics.shown.received(value)
        with self._box:
            self._arrived[key] = value
            done = self._expected.get(key)
        if done is not None:
            self._release(done)

    def take(self, key: str, waits: Waits) -> Array:
        """Remove and return an item, waiting until it arrives; errors are those of `take_any`."""
        return self.take_any((key,), waits)[1]

    def take_any(self, keys: Collection[str], waits: Waits) -> tuple[str, Array]:
        """Remove and return one of several items with its key, waiting until one arrives.

        Raises:
          tf.errors.OpError: the error of the step.
        """
        with self._box:
            for key in keys:
                if key in self._arrived:
                    return key, self._arrived.pop(key)
            done = threading.Lock()
            done.acquire()
            self._expected.update(dict.fromkeys(keys, done))
        self.flush()
        waits.wait(done, lambda error: self._release(done))
        with self._box:
            for key in keys:
                if key in self._arrived:
                    return key, self._arrived.pop(key)
        waits.check()
        raise errors.CancelledError(None, None, "Step was cancelled")

    def _release(self, done: threading.Lock) -> None:
        """Wake the thread that waits for a lock, once."""
        with self._box:
            keys = [key for key, each in self._expected.items() if each is done]
            for key in keys:
                del self._expected[key]
        if keys:
            done.release()


class TaskSteps:
    """The steps of a session in one task.

    Args:
      send, flush: as for `TaskStep`.
    """

    def __init__(self, send: Send, flush: Callable[[], None]) -> None:
        self._send, self._flush = send, flush
        self._lock = threading.Lock()
        self._open: dict[int, TaskStep] = {}
        self._over: OrderedDict[int, None] = OrderedDict()

    def get(self, number: int) -> TaskStep | None:
        """Return a step, which is created by its first message; None if it is over."""
        with self._lock:
            if number in self._over:
                return None
            step = self._open.get(number)
            if step is None:
                step = self._open[number] = TaskStep(number, self._send, self._flush)
            return step

    def end(self, number: int) -> None:
        """Forget the values that have arrived for a step."""
        with self._lock:
            self._open.pop(number, None)
            self._over[number] = None
            if len(self._over) > _REMEMBERED:
                self._over.popitem(last=False)

    def abort(self, number: int) -> None:
        """Abort a step; one that has not begun here will not begin."""
        step = self.get(number)
        if step is not None:
            step.leave(errors.CancelledError(None, None, "Step was cancelled by another task"))

    @contextmanager
    def taking_part(self, number: int) -> Iterator[TaskStep]:
        """Return a context in which this thread runs a step.

        Raises:
          tf.errors.CancelledError: if the step is over.
        """
        step = self.get(number)
        if step is None:
            raise errors.CancelledError(None, None, "Step is over")
        try:
            with interrupted_by(step):
                step.check()
                yield step
                self._flush()
        finally:
            self.end(number)
