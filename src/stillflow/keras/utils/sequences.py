"""Batches by their numbers, and batches made ahead by other threads or processes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.pool
import queue
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.keras.utils.processes import pools


@export("keras.utils.Sequence")
class Sequence:
    """Batches that are found by their numbers; a subclass defines both methods below."""

    def __getitem__(self, index: int) -> Any:
        """Return a batch."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of batches."""
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Act after all batches of an epoch."""

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]


def iterate_forever(sequence: Sequence) -> Iterator[Any]:
    """Yield the batches of a sequence again and again."""
    while True:
        yield from sequence


# A process's copy of the source of an enqueuer.
_source: Any = None


def _begin_process(source: Any, random_seed: int | None) -> None:
    global _source
    _source = source
    if random_seed is not None:
        np.random.seed(random_seed + (multiprocessing.current_process().ident or 0))


def _item(index: int) -> Any:
    return _source[index]


def _next_item() -> Any:
    return next(_source)


def _processes() -> Any:
    """Return the context that starts worker processes: on Linux, as copies of this process.

    Programs rely on copies: a sequence of a local class, or one that holds open files, cannot be
    pickled. Since Python 3.14 the default is another start method.
    """
    copies = sys.platform == "linux" and multiprocessing.get_start_method(True) != "spawn"
    return multiprocessing.get_context("fork" if copies else None)


class _Made:
    """The result or the error of a call, with the methods of a pool's results."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._error: Exception | None = None
        try:
            self._value = call()
        except Exception as error:
            self._error = error

    @classmethod
    def error(cls, error: Exception) -> _Made:
        """Return the result of a call whose error nobody waited for."""
        made = cls(lambda: None)
        made._error = error
        return made

    def get(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self) -> None:
        """Do nothing: the result exists."""

    def successful(self) -> bool:
        return self._error is None


@export("keras.utils.SequenceEnqueuer")
class SequenceEnqueuer:
    """Producer of batches ahead by workers.

    Args:
      sequence: where batches come from.
      use_multiprocessing: whether the workers are processes rather than threads.
    """

    _random_seed: int | None = None

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence, self.use_multiprocessing = sequence, use_multiprocessing
        self.workers = 0
        self.queue: Any = None
        self.run_thread: Any = None
        self.stop_signal: Any = None

    def is_running(self) -> bool:
        """Return True if batches are made."""
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Make up to `max_queue_size` batches ahead by `workers`."""
        self.workers, self.queue = workers, queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._run_or_say_why_not, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Stop the workers."""
        self.stop_signal.set()
        with self.queue.mutex:
            self.queue.queue.clear()
            self.queue.unfinished_tasks = 0
            self.queue.not_full.notify()
        self.run_thread.join(timeout)

    def _pool(self) -> Any:
        if self.use_multiprocessing:
            given = (self.sequence, self._random_seed)
            with warnings.catch_warnings():  # Python 3.12 warns of copies of processes with threads
                warnings.simplefilter("ignore", DeprecationWarning)
                pool = _processes().Pool(self.workers, _begin_process, given)
            pools.add(pool)
            return pool
        return multiprocessing.pool.ThreadPool(self.workers)

    def _run(self) -> None:
        raise NotImplementedError

    def _run_or_say_why_not(self) -> None:
        """Make batches; an error of the workers' start is raised where batches are taken."""
        try:
            self._run()
        except Exception as error:
            self.queue.put(_Made.error(error))

    def get(self) -> Iterator[Any]:
        """Return the batches, in order."""
        raise NotImplementedError

    def _results(self) -> Iterator[Any]:
        """Yield the batches, up to the end of a generator."""
        while self.is_running():
            try:
                inputs = self.queue.get(block=True).get()
            except StopIteration:
                return
            self.queue.task_done()
            if inputs is not None:
                yield inputs


@export("keras.utils.OrderedEnqueuer")
class OrderedEnqueuer(SequenceEnqueuer):
    """Producer of a `Sequence`'s batches ahead, epoch after epoch.

    Args:
      sequence: the sequence.
      use_multiprocessing: whether the workers are processes rather than threads.
      shuffle: whether batches come in random order.
    """

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        order = list(range(len(self.sequence)))
        while not self.stop_signal.is_set():
            if self.shuffle:
                random.shuffle(order)
            with self._pool() as pool:
                get = _item if self.use_multiprocessing else self.sequence.__getitem__
                for i in order:
                    if self.stop_signal.is_set():
                        return
                    self.queue.put(pool.apply_async(get, (i,)), block=True)
                while self.queue.unfinished_tasks:
                    if self.stop_signal.wait(0.01):
                        return
            self.sequence.on_epoch_end()

    def get(self) -> Iterator[Any]:
        """Yield the batches, in order."""
        try:
            yield from self._results()
        except Exception:
            self.stop()
            raise


@export("keras.utils.GeneratorEnqueuer")
class GeneratorEnqueuer(SequenceEnqueuer):
    """Producer of a generator's batches ahead.

    Args:
      sequence: the generator.
      use_multiprocessing: whether the workers are processes rather than threads.
      random_seed: from which the processes' seeds of NumPy are made.
    """

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self._random_seed = random_seed

    def _run(self) -> None:
        if self.workers == 1 and not self.use_multiprocessing:
            # A pool hands each batch from thread to thread four times, and each waits for the
            # interpreter's lock, which the training step holds.
            while not self.stop_signal.is_set():
                self.queue.put(_Made(self.sequence.__next__), block=True)
            return
        with self._pool() as pool:
            get = _next_item if self.use_multiprocessing else self.sequence.__next__
            while not self.stop_signal.is_set():
                self.queue.put(pool.apply_async(get), block=True)
            pool.close()
            pool.join()

    def get(self) -> Iterator[Any]:
        """Yield the batches, in order.

        Raises:
          RuntimeError: if several threads use a generator that only one may use.
        """
        try:
            yield from self._results()
            yield from self._last()
        except Exception as error:
            self.stop()
            if "generator already executing" in str(error):
                raise RuntimeError(
                    "Your generator is NOT thread-safe. Keras requires a thread-safe generator "
                    "when `use_multiprocessing=False, workers > 1`. "
                ) from error
            raise

    def _last(self) -> Iterator[Any]:
        """Yield the batches that were made before the generator ended."""
        left = []
        while self.queue.qsize() > 0:
            left.append(self.queue.get(block=True))
        for result in left:
            result.wait()
        for result in left:
            try:
                inputs = result.get()
            except StopIteration:  # of several workers, the one of the error may come later
                continue
            if inputs is not None:
                yield inputs
