"""Events written by a session's own operations: `tf.summary.FileWriter(..., session=...)`."""

from __future__ import annotations

from typing import Any

from stillflow.files import gfile
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.ops.constants import constant, placeholder_with_default
from stillflow.summary.recording import always_record_summaries
from stillflow.summary.resource_writer import create_file_writer
from stillflow.summary.writing import import_event


class EventFileWriterV2:
    """Writer of events into a file that operations of the session may write to as well.

    Args:
      session: a `Session`; operations are added to its graph.
      logdir: the directory; made if it is not there.
      max_queue: how many events may wait.
      flush_secs: how long they may wait, in seconds.
      filename_suffix: the suffix of the file name; ".v2" if None.
    """

    def __init__(
        self, session: Any, logdir: str, max_queue: int = 10, flush_secs: float = 120,
        filename_suffix: str | None = "",
    ) -> None:  # fmt: skip
        self._session = session
        self._logdir = logdir
        self._closed = False
        if not gfile.is_directory(logdir):
            gfile.recursive_create_dir(logdir)
        with session.graph.as_default():
            with name_scope("filewriter"):
                writer = create_file_writer(logdir, max_queue, flush_secs * 1000, filename_suffix)
                with always_record_summaries(), writer.as_default():
                    unused = constant("unused", dtypes.string)
                    self._event = placeholder_with_default(unused, shape=[])
                    self._add = import_event(self._event)
                self._init_op, self._flush = writer.init(), writer.flush()
                self._close = writer.close()
            session.run(self._init_op)

    def get_logdir(self) -> str:
        """Return the directory."""
        return self._logdir

    def reopen(self) -> None:
        """Reopen after `close`, with a new file; do nothing if not closed."""
        if self._closed:
            self._closed = False
            self._session.run(self._init_op)

    def add_event(self, event: Any) -> None:
        """Add an `Event`; does nothing if closed."""
        if not self._closed:
            self._session.run(self._add, {self._event: event.SerializeToString()})

    def flush(self) -> None:
        """Hand all events to the operating system."""
        self._session.run(self._flush)

    def close(self) -> None:
        """Write waiting events and close the file."""
        if not self._closed:
            self.flush()
            self._session.run(self._close)
            self._closed = True
