"""Threads that answer gRPC's calls."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from stillflow.serve.log import logger


class CallThreads(Executor):
    """A pool of threads whose calls cost a third of what `ThreadPoolExecutor` takes.

    gRPC's server asks of a call only to be told of its end: it handles results and errors itself,
    cancels nothing and waits for nothing, so no call needs the locks that a `Future` has for that.

    Args:
      most: threads; they start as calls come.
      name: what their names begin with.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._idle: queue.SimpleQueue[None] = queue.SimpleQueue()  # an item a thread that waits
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make a call in a thread; return what `add_done_callback` tells of its end."""
        made = _Call(call, args, kwargs)
        self._calls.put(made)
        try:
            self._idle.get_nowait()
        except queue.Empty:
            self._start()
        return made

    def _start(self) -> None:
        with self._starting:
            if len(self._threads) >= self._most:
                return
            name = f"{self._name}_{len(self._threads)}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
            del call  # what it holds, while this thread waits
            self._idle.put(None)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after the calls that are there."""
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()


class _Call(Future[Any]):
    """A call, of whose methods as a future only that for its end is there."""

    def __init__(self, call: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._call, self._args, self._kwargs = call, args, kwargs
        self._callbacks: list[Callable[[Future[Any]], Any]] = []
        self._ended = False

    def run(self) -> None:
        try:
            self._call(*self._args, **self._kwargs)
        except Exception:  # gRPC handles those of services: one of its own ends no thread
            logger.exception("a call failed")
        self._ended = True
        self._tell()

    def add_done_callback(self, fn: Callable[[Future[Any]], Any]) -> None:
        self._callbacks.append(fn)
        if self._ended:
            self._tell()

    def _tell(self) -> None:
        while self._callbacks:
            try:
                tell = self._callbacks.pop()  # one step: each is told once
            except IndexError:
                return
            tell(self)
