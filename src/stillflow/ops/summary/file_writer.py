"""The file that operations write summaries to: a resource of a session."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any

from stillflow import errors
from stillflow.files import gfile
from stillflow.files.events import EventsWriter
from stillflow.ops.summary import encoding


class SummaryFileWriter:
    """Gathers events and writes them when enough have come together.

    Waiting events are written when the object is deleted, at the latest when the program ends.

    Args:
      logdir: the directory; made if it is not there.
      max_queue: how many events may wait.
      flush_millis: how long they may wait, in milliseconds; looked at when one comes.
      filename_suffix: the suffix of the file name.

    Raises:
      OpError: if the file cannot be made.
    """

    def __init__(
        self, logdir: str, max_queue: int, flush_millis: int, filename_suffix: str
    ) -> None:
        if not gfile.is_directory(logdir):
            if gfile.file_exists(logdir):
                raise errors.FailedPreconditionError(None, None, "Not a directory")
            gfile.recursive_create_dir(logdir)
        self._max_queue, self._flush_millis = max_queue, flush_millis
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._events = EventsWriter(os.path.join(logdir, "events"))
        self._events.InitWithSuffix(filename_suffix)
        self._flushed = time.monotonic()
        self._end = weakref.finalize(self, _write_last, self._events, self._waiting)

    def add(self, event: bytes) -> None:
        """Add a serialized `Event`."""
        with self._lock:
            self._waiting.append(event)
            passed = 1000 * (time.monotonic() - self._flushed)
            if len(self._waiting) > self._max_queue or passed > self._flush_millis:
                self._flush()

    def add_field(self, step: int, number: int, content: bytes) -> None:
        """Add an event of now.

        Args:
          step: of the training.
          number: which field of `Event` the content is.
          content: serialized.
        """
        self.add(encoding.event(time.time(), step, number, content))

    def flush(self) -> None:
        """Hand all events to the operating system."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        _write(self._events, self._waiting)
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Write waiting events and close the file."""
        self._end()


def _write(events: EventsWriter, waiting: list[bytes]) -> None:
    for event in waiting:
        events.write_serialized(event)
    waiting.clear()
    events.Flush()


def _write_last(events: EventsWriter, waiting: list[bytes]) -> None:
    try:
        _write(events, waiting)
        events.Close()
    except errors.OpError:
        pass  # there is nobody left to tell


class WriterResource:
    """Target of a writer's handle: a place for a writer.

    Args:
      container: of the resource.
      name: by which operations share it.
      made: what was ever made in the container; before, messages say that there is none.
    """

    def __init__(self, container: str, name: str, made: list[WriterResource]) -> None:
        self._container, self._name = container or "localhost", name
        self._made = made
        self._lock = threading.Lock()
        self._writer: SummaryFileWriter | None = None

    def create(self, *arguments: Any) -> None:
        """Make the writer, of arguments of `SummaryFileWriter`, unless there is one."""
        with self._lock:
            if self._writer is None:
                self._writer = SummaryFileWriter(*arguments)
                self._made.append(self)

    def writer(self) -> SummaryFileWriter:
        """Return the writer.

        Raises:
          NotFoundError: if it was not made yet, or is closed.
        """
        writer = self._writer
        if writer is None:
            raise errors.NotFoundError(None, None, self._missing())
        return writer

    def delete(self) -> None:
        """Close the writer; another can be made.

        Raises:
          NotFoundError: if there is none.
        """
        with self._lock:
            writer, self._writer = self._writer, None
        if writer is None:
            raise errors.NotFoundError(None, None, self._missing().partition(" (")[0])
        writer.close()

    def close_session(self) -> None:
        """Close the writer if there is one: the session ends."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _missing(self) -> str:
        place = f"{self._container}/{self._name}"
        if self._made:
            return f"Resource {place}/N10tensorflow22SummaryWriterInterfaceE does not exist."
        return f"Container {self._container} does not exist. (Could not find resource: {place})"
