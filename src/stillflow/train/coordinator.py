"""tf.train.Coordinator: threads that stop together, with their error raised in one place."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from stillflow import errors
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging

_FIRST_PAUSE = 0.001


@export("train.Coordinator")
class Coordinator:
    """Coordinator of a set of threads that stop together.

    Args:
      clean_stop_exception_types: exceptions that ask for the end without being errors;
        `OutOfRangeError` by default.

    Example:
      >>> coordinator = tf.train.Coordinator()
      >>> coordinator.request_stop()
      >>> coordinator.should_stop(), coordinator.join()
      (True, None)
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exc_info_to_raise: Any = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    def _is_clean(self, ex: Any) -> bool:
        error = ex[1] if isinstance(ex, tuple) else ex
        return isinstance(error, self._clean_stop_exception_types)

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to end.

        Args:
          ex: an exception, or what `sys.exc_info()` gives, for `join` to raise.

        Raises:
          BaseException: `ex`, if the threads were joined already.
        """
        with self._lock:
            if ex is not None and self._is_clean(ex):
                ex = None
            if self._joined:
                if isinstance(ex, tuple):
                    _raise(ex)
                elif ex is not None:
                    _raise(sys.exc_info())
            if self._stop_event.is_set():
                return
            if ex and self._exc_info_to_raise is None:
                self._exc_info_to_raise = _exc_info(ex)
            self._stop_event.set()

    def clear_stop(self) -> None:
        """Forget that the end was asked for, so that new threads can run."""
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Return True if the end was asked for."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Stop the threads on an exception inside, instead of raising it."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait, at most `timeout` seconds, and return True if a stop was requested."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread for `join` to wait for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the threads to end and raise the reported error.

        Args:
          threads: more threads than the registered ones.
          stop_grace_period_secs: how long they may take once the end was asked for.
          ignore_live_threads: whether threads that live on are only logged.

        Raises:
          RuntimeError: if threads live on.
          BaseException: the exception given to `request_stop`.
        """
        with self._lock:
            waited = list(self._registered_threads.union(threads or ()))
        while any(thread.is_alive() for thread in waited) and not self.wait_for_stop(1.0):
            pass
        pause, left = _FIRST_PAUSE, stop_grace_period_secs
        while any(thread.is_alive() for thread in waited) and left >= 0.0:
            time.sleep(pause)
            left -= pause
            pause = max(min(2 * pause, left), _FIRST_PAUSE)
        self._end([thread.name for thread in waited if thread.is_alive()], ignore_live_threads)

    def _end(self, alive: list[str], ignore: bool) -> None:
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._exc_info_to_raise:
                _raise(self._exc_info_to_raise)
            if not alive:
                return
            message = f"Coordinator stopped with threads still running: {' '.join(alive)}"
            if not ignore:
                raise RuntimeError(message)
            logging.info(message)

    @property
    def joined(self) -> bool:
        """True if `join` was called and has returned."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception given to `request_stop`, if any."""
        with self._lock:
            if self._exc_info_to_raise:
                _raise(self._exc_info_to_raise)


def _exc_info(ex: Any) -> Any:
    """Log a reported exception and return the stored form of it."""
    if isinstance(ex, tuple):
        logging.info("Error reported to Coordinator: %s", ex[1], exc_info=ex)
        info: Any = ex
    else:
        logging.info("Error reported to Coordinator: %s, %s", type(ex), ex)
        info = sys.exc_info()
        if not info[1] and isinstance(ex, BaseException) and ex.__traceback__ is not None:
            info = (type(ex), ex, ex.__traceback__)
    if len(info) == 3 and info[0] and info[1]:
        return info
    try:
        raise ValueError(
            f"ex must be a tuple or sys.exc_info must return the current exception: {info}"
        )
    except ValueError:
        return sys.exc_info()


def _raise(exc_info: Any) -> NoReturn:
    raise exc_info[1].with_traceback(exc_info[2])


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that does something again and again until a coordinator ends it.

    Args:
      coord: the `Coordinator`.
      timer_interval_secs: seconds from one start to the next, None for no pause.
      target: what to call; by default `run_loop` does nothing, for a subclass to override.
      args: positional arguments of `target`.
      kwargs: keyword arguments of `target`.

    Raises:
      ValueError: if `coord` is no coordinator or there are arguments without a target.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._target = target
        if not target and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        self._args = args or ()
        self._kwargs = kwargs or {}
        self._coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Make a looper and start it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            interval = self._timer_interval_secs
            if interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.time()
                while not self._coord.wait_for_stop(due - time.time()):
                    due += interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Prepare the loop; called once before the first iteration."""

    def stop_loop(self) -> None:
        """Finish the loop; called once after the last iteration, unless one has failed."""

    def run_loop(self) -> None:
        """Run one iteration."""
        if self._target:
            self._target(*self._args, **self._kwargs)
