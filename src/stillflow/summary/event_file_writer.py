"""Events on their way to a file: a thread writes them, the program goes on."""

from __future__ import annotations

import atexit
import collections
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.files import gfile
from stillflow.files.events import EventsWriter
from stillflow.files.filesystem import name_of
from stillflow.platform import tf_logging as logging
from stillflow.util.threads import our_thread
from stillflow.util.weak import LiveSet, live_items

# Who adds events waits only when this much has piled up, and more than `max_queue` events.
_PILE = 64 << 20
# Events are written some at a time: a thread that wakes at every step takes Python's lock from it.
_GATHERING = 0.05  # seconds


class EventFileWriter:
    """Writer of events into a file in a directory.

    Args:
      logdir: the directory; made if it is not there.
      max_queue: number of events that may wait, of any size.
      flush_secs: how long events may wait to be seen by others, in seconds.
      filename_suffix: the suffix of the file name.
    """

    def __init__(
        self,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        # As in TensorFlow None is a name as well; only bytes, which it would quote, are text.
        self._logdir = name_of(logdir) if isinstance(logdir, bytes) else str(logdir)
        if not gfile.is_directory(self._logdir):
            gfile.recursive_create_dir(self._logdir)
        self._events = EventsWriter(os.path.join(self._logdir, "events"))
        self._losses = _Losses()
        if filename_suffix:
            self._losses.log_errors_of(self._events.InitWithSuffix, filename_suffix)
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._closed = False
        self._start()
        _open.add(self)

    def _start(self) -> None:
        self._file_made, self._making = False, threading.Lock()
        self._pile = _Pile(self._max_queue)
        arguments = self._pile, self._events, self._flush_secs, self._losses
        self._worker = our_thread(
            threading.Thread(target=_write, args=arguments, daemon=True, name="stillflow-events")
        )
        _workers[self._worker] = self._pile
        self._worker.start()

    def __del__(self) -> None:
        """End the thread after the last event; the file closes with it."""
        pile = getattr(self, "_pile", None)  # missing where the directory could not be made
        if pile is not None:
            pile.end()

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def reopen(self) -> None:
        """Reopen after `close`, with a new file; do nothing if not closed."""
        if self._closed:
            self._start()
            self._closed = False

    def add_event(self, event: Any) -> None:
        """Add an `Event`; does nothing if closed."""
        self.add_serialized(event.SerializeToString())

    def add_serialized(self, *parts: bytes) -> None:
        """Add an event that is serialized already, in parts; does nothing if closed."""
        if self._closed:
            return
        if not self._file_made:
            self._make_file()
        self._pile.add(parts, self._worker)

    def _make_file(self) -> None:
        """Make the file before the first event is added: programs look for it right away."""
        with self._making:
            if not self._file_made:
                self._losses.log_errors_of(self._events.open)
                self._file_made = True

    def flush(self) -> None:
        """Wait until all events are with the operating system."""
        self._pile.wait(self._worker)
        if not self._closed:
            self._losses.log_errors_of(self._events.Flush)

    def close(self) -> None:
        """Write waiting events and close the file."""
        if self._closed:
            return
        self._closed = True
        self._pile.end()
        self._worker.join()
        self._losses.log_errors_of(self._events.Close)


class _Losses:
    """Warning, given once, about events that cannot be written.

    As in TensorFlow, a full disk or a read-only folder costs the log alone: a training program goes
    on, and saves its model.
    """

    def __init__(self) -> None:
        self._told = False

    def log_errors_of(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Call a function, and log its errors."""
        try:
            call(*arguments)
        except Exception as error:
            if not self._told:
                logging.error(f"Events cannot be written: {error}")
                self._told = True


_open: LiveSet[EventFileWriter] = LiveSet()
# Threads outlive their writers, which programs drop without closing them.
_workers: weakref.WeakKeyDictionary[threading.Thread, _Pile] = weakref.WeakKeyDictionary()


@atexit.register
def _close_all() -> None:
    """Write the pending events of programs when they end."""
    for writer in _open:
        try:
            writer.close()
        except Exception as error:
            logging.error(f"Events in {writer.get_logdir()} are lost: {error}")
    for worker, pile in live_items(_workers):
        pile.end()
        worker.join()


class _Pile:
    """Serialized events, in parts, that wait to be written."""

    def __init__(self, max_queue: int) -> None:
        self._max_queue = max_queue
        self._changed = threading.Condition()
        self._events: collections.deque[Sequence[bytes]] = collections.deque()
        self._size = 0
        self._unwritten = 0
        self._ended = False
        self._hurry = True  # somebody waits for the events in the pile, or it is the first event

    def add(self, event: Sequence[bytes], worker: threading.Thread) -> None:
        with self._changed:
            while self._size > _PILE and len(self._events) >= self._max_queue > 0:
                if not worker.is_alive():  # in a child process
                    return
                self._changed.notify_all()
                self._changed.wait(1)
            self._events.append(event)
            self._size += sum(map(len, event))
            self._unwritten += 1
            if len(self._events) == 1:
                self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait(self, worker: threading.Thread) -> None:
        """Wait until everything is written."""
        with self._changed:
            while self._unwritten and worker.is_alive():
                if not self._hurry:
                    self._hurry = True
                    self._changed.notify_all()
                self._changed.wait(1)

    def take(self, timeout: float) -> list[Sequence[bytes]] | None:
        """Return the events that wait, after `timeout` seconds none; None after the end."""
        with self._changed:
            if not self._events and not self._ended:
                self._changed.wait(timeout)
            if self._events:
                self._changed.wait_for(self._is_urgent, _GATHERING)
            self._hurry = False
            events = list(self._events)
            self._events.clear()
            self._size = 0
            return None if self._ended and not events else events

    def _is_urgent(self) -> bool:
        return self._ended or self._hurry or self._size > _PILE

    def written(self, count: int) -> None:
        with self._changed:
            self._unwritten -= count
            self._changed.notify_all()


def _write(pile: _Pile, writer: EventsWriter, flush_secs: float, losses: _Losses) -> None:
    """Write events as they arrive, in the thread."""
    # The first event is shown at once, later ones after `flush_secs`.
    next_flush, waiting = 0.0, False
    while True:
        timeout = max(0.01, next_flush - time.monotonic()) if waiting else 3600.0
        events = pile.take(timeout)
        if events is None:
            return
        losses.log_errors_of(_write_all, writer, events)
        waiting = waiting or bool(events)
        if waiting and time.monotonic() >= next_flush:
            waiting = False
            next_flush = time.monotonic() + flush_secs
            losses.log_errors_of(writer.Flush)
        pile.written(len(events))


def _write_all(writer: EventsWriter, events: list[Sequence[bytes]]) -> None:
    for event in events:
        writer.write_serialized(b"".join(event))
