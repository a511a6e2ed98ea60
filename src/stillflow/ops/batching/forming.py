"""Forming of batches from inputs of several runs.

There is no worker thread: the run that completes a batch, or the timer of one that stays open for
too long, closes it. The run that joined it last computes it for all others, which wait.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stillflow import errors

_MICRO = 1e-6


class Task:
    """Input of one run to a batch.

    Args:
      key: a number that tells runs apart.
      inputs: arrays with as many rows each.
      size: the number of these rows.
    """

    def __init__(self, key: int, inputs: Sequence[Any], size: int) -> None:
        self.key, self.inputs, self.size = key, inputs, size
        self.result: Any = None
        self.error: Exception | None = None
        self.leads: Batch | None = None  # the batch that this task's run is to compute
        self.is_over = False
        self.done = threading.Lock()  # released when there is something for its run to do
        self.done.acquire()

    def wake(self) -> None:
        """Resume the run of the task."""
        if not self.is_over:
            self.is_over = True
            self.done.release()


class Batch:
    """Tasks that are computed together, in the order in which they came."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.is_overdue = False
        self.timer: threading.Timer | None = None

    @property
    def size(self) -> int:
        """The number of rows of all tasks."""
        return sum(task.size for task in self.tasks)

    def stop(self) -> None:
        """Stop the timer of a closed or cancelled batch."""
        if self.timer is not None:
            self.timer.cancel()

    def ends(self) -> list[int]:
        """Return the end of each task's rows."""
        ends, last = [], 0
        for task in self.tasks:
            last += task.size
            ends.append(last)
        return ends


@dataclass(frozen=True)
class Limits:
    """Limits of an operation's batches, by the names of its attributes."""

    num_batch_threads: int
    max_batch_size: int
    batch_timeout_micros: int
    max_enqueued_batches: int
    allowed_batch_sizes: tuple[int, ...]

    def padded(self, size: int) -> int:
        """Return the number of rows that a batch of `size` rows is filled up to."""
        return next((allowed for allowed in self.allowed_batch_sizes if allowed >= size), size)

    def check(self) -> None:
        """Raise an error unless sizes grow up to the largest.

        Raises:
          InvalidArgumentError: for these.
        """
        sizes = self.allowed_batch_sizes
        if any(later <= earlier for earlier, later in itertools.pairwise(sizes)):
            raise errors.invalid_argument(
                "allowed_batch_sizes entries must be monotonically increasing"
            )
        if sizes and sizes[-1] != self.max_batch_size:
            raise errors.invalid_argument(
                "final entry in allowed_batch_sizes must equal max_batch_size"
            )


class Batcher:
    """Queues of batches by name, of which a few are computed at a time.

    Args:
      limits: of sizes, times and numbers.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._queues: dict[bytes, deque[Batch]] = {}
        self._computing = 0

    def run(
        self, queue: bytes, task: Task, compute: Callable[[Batch], list[Any]], waits: Any
    ) -> Any:
        """Return the result of `compute` for a task, after the call for its batch.

        Args:
          queue: the name of the queue.
          task: what to compute.
          compute: gives a result for each task of a batch; one run calls it for all of them.
          waits: how the run waits.

        Raises:
          InvalidArgumentError: if the task alone is larger than a batch.
          UnavailableError: if too many batches wait.
          tf.errors.OpError: the error of `compute`, in all runs of the batch.
        """
        with self._lock:
            self._add(self._queues.setdefault(queue, deque([Batch()])), task)
            self._start()
        try:
            waits.wait(task.done, lambda error: self._cancel(queue, task, error))
        except BaseException:  # Ctrl-C
            self._cancel(queue, task, errors.cancelled("The run was interrupted"))
            raise
        if task.leads is not None:
            self._compute(task.leads, compute)
        if task.error is not None:
            raise task.error
        return task.result

    def _add(self, batches: deque[Batch], task: Task) -> None:
        largest = self.limits.max_batch_size
        if task.size > largest:
            raise errors.invalid_argument(
                f"Task size {task.size} is larger than maximum batch size {largest}"
            )
        if batches[-1].size + task.size > largest:
            if len(batches) >= self.limits.max_enqueued_batches:
                raise errors.unavailable(
                    "The batch scheduling queue to which this task was submitted is full"
                )
            batches.append(Batch())
        batch = batches[-1]
        batch.tasks.append(task)
        if len(batch.tasks) == 1:
            self._time(batch)

    def _time(self, batch: Batch) -> None:
        """Close a batch after a while, even if it is not full."""

        def close() -> None:
            with self._lock:
                batch.is_overdue = True
                self._start()

        seconds = self.limits.batch_timeout_micros * _MICRO
        if seconds <= 0:
            batch.is_overdue = True
            return
        batch.timer = threading.Timer(seconds, close)
        batch.timer.daemon = True
        batch.timer.start()

    def _start(self) -> None:
        """Hand batches that are closed to their last runs, as many as may be computed."""
        for batches in self._queues.values():
            while self._computing < self.limits.num_batch_threads and self._is_ready(batches):
                batch = batches.popleft()
                if not batches:
                    batches.append(Batch())
                batch.stop()
                self._computing += 1
                leader = batch.tasks[-1]
                leader.leads = batch
                leader.wake()

    def _is_ready(self, batches: deque[Batch]) -> bool:
        first = batches[0]
        if not first.tasks:
            return False
        return len(batches) > 1 or first.is_overdue or first.size >= self.limits.max_batch_size

    def _compute(self, batch: Batch, compute: Callable[[Batch], list[Any]]) -> None:
        try:
            for task, result in zip(batch.tasks, compute(batch), strict=True):
                task.result = result
        except Exception as error:
            for task in batch.tasks:
                task.error = _again(error)
        finally:
            with self._lock:
                self._computing -= 1
                self._start()
            for task in batch.tasks:
                task.wake()

    def _cancel(self, queue: bytes, task: Task, error: errors.OpError) -> None:
        """Remove a task, unless its batch is being computed."""
        with self._lock:
            batches = self._queues[queue]
            for batch in batches:
                if task in batch.tasks:
                    batch.tasks.remove(task)
                    task.error = _again(error)
                    if not batch.tasks:
                        batch.stop()
                        batches.remove(batch)
                    if not batches:
                        batches.append(Batch())
                    break
            else:
                return
        task.wake()


def _again(error: Exception) -> Exception:
    """Return an error to be raised in one more thread."""
    if isinstance(error, errors.OpError):
        kind: Any = type(error)
        return kind(None, None, error.message)
    return error
