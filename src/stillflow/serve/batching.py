"""The batch scheduler: queues of requests, and threads that run them in batches.

There is one queue for each set of inputs and outputs of a version, and one set of threads for all
queues. A batch is ready when it is full, or when its first request has waited for the timeout.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.serve.batch import Array, combined, rows_of, split
from stillflow.serve.metrics import Metrics
from stillflow.serve.servable import Servable

_MAX_BATCH_SIZE, _TIMEOUT_MICROS, _MAX_ENQUEUED = 1000, 0, 10  # TensorFlow Serving's


@dataclass(frozen=True)
class Parameters:
    """Checked `BatchingParameters`.

    Attributes:
      max_batch_size: rows of the largest request, and of the largest batch unless
        `max_execution_batch_size` is smaller.
      timeout: seconds that the first request of a batch waits for others.
      max_enqueued_batches: batches of a queue that wait.
      threads: batches that run at a time.
      sizes: the sizes that batches may have; empty: all.
      pads: whether inputs of different lengths are filled up.
      splits: whether a request that is larger than a batch is cut.
      pool: name of the threads, in metrics.
    """

    max_batch_size: int
    max_execution_batch_size: int
    timeout: float
    max_enqueued_batches: int
    threads: int
    sizes: tuple[int, ...]
    pads: bool
    splits: bool
    pool: str


def parameters(message: Any) -> Parameters:
    """Return the parameters of a `BatchingParameters` message, checked.

    Raises:
      InvalidArgumentError: if they contradict each other.
    """

    def value(name: str, default: int, least: int) -> int:
        found = getattr(message, name).value if message.HasField(name) else default
        if found < least:
            raise errors.invalid_argument(f"{name} must be at least {least}; was {found}")
        return int(found)

    largest = value("max_batch_size", _MAX_BATCH_SIZE, 1)
    splits = message.enable_large_batch_splitting.value
    executed = value("max_execution_batch_size", largest, 1) if splits else largest
    sizes = tuple(message.allowed_batch_sizes)
    if any(after <= before for before, after in zip((0, *sizes), sizes)):
        raise errors.invalid_argument(
            "allowed_batch_sizes entries must be monotonically increasing"
        )
    if sizes and sizes[-1] != executed:
        raise errors.invalid_argument(
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
            f"{sizes[-1]}; expected {executed}"
        )
    return Parameters(
        max_batch_size=largest,
        max_execution_batch_size=min(executed, largest),
        timeout=value("batch_timeout_micros", _TIMEOUT_MICROS, 0) / 1e6,
        max_enqueued_batches=value("max_enqueued_batches", _MAX_ENQUEUED, 1),
        threads=value("num_batch_threads", os.cpu_count() or 1, 1),
        sizes=sizes,
        pads=message.pad_variable_length_inputs,
        splits=splits,
        pool=message.thread_pool_name.value or "batch_threads",
    )


class Task:
    """A request, or a part of one, that waits for its batch."""

    def __init__(self, feeds: Mapping[str, Array], rows: int, deadline: float | None) -> None:
        self.feeds, self.rows, self.deadline = feeds, rows, deadline
        self.arrived = time.monotonic()
        self.cancelled = False
        self._done = threading.Lock()  # held until there is an answer; cheaper than an Event
        self._done.acquire()
        self._answer: list[Array] | BaseException | None = None

    def answer(self, answer: list[Array] | BaseException) -> None:
        """Answer the request with its outputs or an error, unless it has an answer."""
        if self._answer is None:
            self._answer = answer
            self._done.release()

    def expired(self) -> bool:
        """Return True if nobody waits for the answer any more."""
        return self.cancelled or (self.deadline is not None and time.monotonic() > self.deadline)

    def result(self) -> list[Array]:
        """Wait for the answer.

        Raises:
          DeadlineExceededError: if it does not come in time.
        """
        left = -1.0
        if self.deadline is not None:
            left = min(max(0.0, self.deadline - time.monotonic()), threading.TIMEOUT_MAX)
        if not self._done.acquire(timeout=left):
            self.cancelled = True
            raise errors.deadline_exceeded(
                "Deadline exceeded while the request waited for its batch"
            )
        assert self._answer is not None
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class _Queue:
    """Requests of one kind, as batches in the order of their arrival."""

    def __init__(self, servable: Servable, fetches: Sequence[str]) -> None:
        self.servable, self.fetches = servable, list(fetches)
        self.batches: deque[list[Task]] = deque()

    def add(self, task: Task, limits: Parameters) -> None:
        """Append a task to the last batch, or begin another one.

        Raises:
          UnavailableError: if the queue is full.
        """
        last = self.batches[-1] if self.batches else None
        if last is None or _rows(last) + task.rows > limits.max_execution_batch_size:
            if len(self.batches) >= limits.max_enqueued_batches:
                raise errors.unavailable(
                    "The batch scheduling queue to which this task was submitted is full"
                )
            last = []
            self.batches.append(last)
        last.append(task)

    def take(self, sizes: Sequence[int]) -> list[Task]:
        """Remove and return the first batch, or so much of it that few rows are filled up.

        Twenty requests for batches of 16 or 32 run as 16, and four with those that come next.
        """
        tasks, rest = self.batches.popleft(), []
        rows = _rows(tasks)
        smaller = max((size for size in sizes if size <= rows), default=0)
        larger = _filled_up(rows, sizes)
        if larger - rows > rows - smaller:
            while rows > smaller and len(tasks) > 1:
                rest.append(tasks.pop())
                rows -= rest[-1].rows
        if rest:
            self.batches.appendleft(rest[::-1])
        return tasks

    def ready_at(self, limits: Parameters) -> float:
        """Return the time from when on the first batch may run."""
        first = self.batches[0]
        full = len(self.batches) > 1 or _rows(first) >= limits.max_execution_batch_size
        return 0.0 if full else first[0].arrived + limits.timeout


def _rows(tasks: Sequence[Task]) -> int:
    return sum(task.rows for task in tasks)


def _filled_up(rows: int, sizes: Sequence[int]) -> int:
    """Return the size of a batch of so many rows: the next that is allowed, if any."""
    return min((size for size in sizes if size >= rows), default=rows)


class Batcher:
    """The scheduler of a server.

    Args:
      limits: the parameters.
      metrics: takes waiting times and sizes of batches.
    """

    def __init__(self, limits: Parameters, metrics: Metrics) -> None:
        self.limits, self._metrics = limits, metrics
        self._queues: dict[Any, _Queue] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"stillflow-batch-{index}", daemon=True)
            for index in range(limits.threads)
        ]
        for thread in self._threads:
            thread.start()

    def run(
        self, servable: Servable, feeds: Mapping[str, Array], fetches: Sequence[str],
        deadline: float | None,
    ) -> list[Array]:  # fmt: skip
        """Run a request as part of a batch; see `Servable.run`.

        Args:
          servable, feeds, fetches: as in `Servable.run`.
          deadline: by `time.monotonic`, or None.

        Raises:
          UnavailableError: if the queue is full.
          DeadlineExceededError: if the answer does not come in time.
          OpError: if the run fails.
        """
        rows = rows_of(feeds)
        limits = self.limits
        if rows > limits.max_batch_size and not limits.splits:
            raise errors.invalid_argument(
                f"Task size {rows} is larger than maximum input batch size {limits.max_batch_size}"
            )
        if not rows:  # a batch has no place for it, and others no use
            return servable.run(feeds, fetches)
        step = limits.max_execution_batch_size
        tasks = [
            Task({k: v[at : at + step] for k, v in feeds.items()}, min(step, rows - at), deadline)
            for at in range(0, rows, step)
        ]
        self._submit(servable, tasks, fetches)
        try:
            parts = [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancelled = True
        return parts[0] if len(parts) == 1 else [np.concatenate(each) for each in zip(*parts)]

    def _submit(self, servable: Servable, tasks: Sequence[Task], fetches: Sequence[str]) -> None:
        key = (servable, tuple(sorted(tasks[0].feeds)), tuple(fetches))
        with self._changed:
            if self._stopped:
                raise errors.unavailable("The server stops")
            queue = self._queues.get(key)
            if queue is None:
                queue = self._queues[key] = _Queue(servable, fetches)
            added = []
            try:
                for task in tasks:
                    queue.add(task, self.limits)
                    added.append(task)
            except errors.UnavailableError:
                for task in added:
                    task.cancelled = True
                raise
            self._changed.notify()

    def waiting(self) -> int:
        """Return the number of requests that wait."""
        with self._changed:
            return sum(len(tasks) for queue in self._queues.values() for tasks in queue.batches)

    def forget(self, servable: Servable) -> None:
        """Drop the queues of a servable that is unloaded; nobody waits in them."""
        with self._changed:
            for key in [key for key in self._queues if key[0] is servable]:
                del self._queues[key]

    def stop(self) -> None:
        """Run the batches that wait, then end the threads."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    # ---- Threads -------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                found = self._next()
            if found is None:
                return
            queue, tasks = found
            try:
                self._run_batch(queue, tasks)
            except BaseException as error:  # each request has to be answered
                for task in tasks:
                    task.answer(error)

    def _next(self) -> tuple[_Queue, list[Task]] | None:
        """Wait for a batch that is ready, the longest waiting first; None when all is done."""
        while True:
            filled = [queue for queue in self._queues.values() if queue.batches]
            if filled:
                now = time.monotonic()
                times = [(queue.ready_at(self.limits), queue) for queue in filled]
                ready = [queue for at, queue in times if at <= now or self._stopped]
                if ready:
                    first = min(ready, key=lambda queue: queue.batches[0][0].arrived)
                    tasks = first.take(self.limits.sizes)
                    if len(filled) > 1 or first.batches:  # another thread takes over the wait
                        self._changed.notify()
                    return first, tasks
                self._changed.wait(min(at for at, _ in times) - now)
            elif self._stopped:
                return None
            else:
                self._changed.wait()

    def _run_batch(self, queue: _Queue, tasks: list[Task]) -> None:
        now = time.monotonic()
        alive = []
        for task in tasks:
            self._metrics.queueing.add((now - task.arrived) * 1e6, self.limits.pool)
            if task.expired():
                task.answer(errors.deadline_exceeded("Deadline exceeded before the batch ran"))
            else:
                alive.append(task)
        if not alive:
            return
        servable = queue.servable
        try:
            self._run_together(servable, queue.fetches, alive)
        except errors.OpError as error:
            if len(alive) == 1:
                alive[0].answer(error)
                return
            for task in alive:  # one bad request must not spoil the answers of the others
                try:
                    self._run_together(servable, queue.fetches, [task])
                except errors.OpError as own:
                    task.answer(own)

    def _run_together(self, servable: Servable, fetches: list[str], tasks: list[Task]) -> None:
        size = _filled_up(_rows(tasks), self.limits.sizes)
        self._metrics.batch_sizes.add(size, servable.name, str(servable.version))
        feeds = combined([task.feeds for task in tasks], size, self.limits.pads)
        outputs = servable.run(feeds, fetches)
        parts = split(outputs, [task.rows for task in tasks], size)
        for task, part in zip(tasks, parts):
            task.answer(part)
