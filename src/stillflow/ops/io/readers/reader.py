"""Readers while they run: they keep their place in a file from one run to the next."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.ops.io.readers.records import Record, Records, Source
from stillflow.protos import ReaderBaseState


class Reader:
    """Reader of the records of one file after the other.

    Args:
      name: its name in errors, `TextLineReader 'reader'`.
      records: gives None when it has opened the file of a name, then its records.
      serializes: whether its state can be saved: it is then always between two files.
    """

    def __init__(self, name: str, records: Records, serializes: bool = False) -> None:
        self.name = name
        self.serializes = serializes
        self._records = records
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._started = self._finished = self._produced = 0
        self._work = b""
        self._source: Source | None = None
        self._error: BaseException | None = None
        self._ahead: deque[Record] = deque()  # read, but not given to anybody

    def _open_next(self, queue: Any, waits: Any) -> Source:
        """Start on the next file, whose name comes from the queue."""
        element = queue.dequeue(waits)
        if len(element) != 1:
            raise errors.invalid_argument("Expected single component queue")
        if queue.dtypes[0] != dtypes.string:
            raise errors.invalid_argument("Expected queue with single string component")
        if element[0].size != 1:
            raise errors.invalid_argument("Expected to dequeue a one-element string tensor")
        self._work = element[0].reshape(-1)[0]
        source = self._records(self._work)
        next(source)
        self._source = source
        self._started += 1
        self._error = None
        return source

    def _next(self, queue: Any, waits: Any) -> Record | None:
        """Return the next record; None at the end of a file. A damaged one stays damaged."""
        if self._ahead:
            return self._ahead.popleft()
        source = self._source
        if source is None:
            source = self._open_next(queue, waits)
        if self._error is not None:
            raise self._error
        try:
            record = next(source)
        except StopIteration:
            self._end_file()
            return None
        except errors.OpError as error:
            self._error = error
            raise
        if self.serializes:  # one file is one record
            self._end_file()
        return record

    def _end_file(self) -> None:
        self._source = None
        self._finished = self._started

    def read(self, queue: Any, waits: Any) -> Record:
        """Return the next record.

        Raises:
          OutOfRangeError: the queue of names is closed and empty.
          tf.errors.OpError: a file cannot be read.
        """
        with self._lock:
            while True:
                record = self._next(queue, waits)
                if record is not None:
                    self._produced += 1
                    return record
                waits.check()  # empty files, again and again, are no reason to hang

    def read_up_to(self, queue: Any, count: int, waits: Any) -> list[Record]:
        """Return at most `count` records, fewer at the end of a file.

        Raise the errors of `read`.
        """
        found: list[Record] = []
        with self._lock:
            while len(found) < count:
                record = self._next(queue, waits)
                if record is not None:
                    self._produced += 1
                    found.append(record)
                elif found:
                    break
                waits.check()
        return found

    def read_ahead(self, count: int) -> list[Record]:
        """Return at most `count` records of the open file, without waiting.

        They are not counted, and an error is left to the next read.
        """
        found: list[Record] = []
        with self._lock:
            while self._ahead and len(found) < count:
                found.append(self._ahead.popleft())
            if self._source is None or self._error is not None or self.serializes:
                return found
            try:
                for record in itertools.islice(self._source, count - len(found)):
                    if record is not None:
                        found.append(record)
            except errors.OpError as error:
                self._error = error
        return found

    def give_back(self, records: Sequence[Record]) -> None:
        """Put records back that `read_ahead` gave: they are the next ones."""
        with self._lock:
            self._ahead.extendleft(reversed(records))

    def count(self, number: int) -> None:
        """Add `number` to the count of produced records after `read_ahead`."""
        with self._lock:
            self._produced += number

    @property
    def records_produced(self) -> int:
        return self._produced

    @property
    def work_units_completed(self) -> int:
        return self._finished

    def close_session(self) -> None:
        """Close the file, unless a thread reads from it: that will end with the session."""
        if self._lock.acquire(blocking=False):
            try:
                if self._source is not None:
                    self._source.close()
            finally:
                self._lock.release()

    def reset(self) -> None:
        """Forget the place in the file and all counts."""
        with self._lock:
            self._clear()

    def serialize(self) -> bytes:
        """Return the state, to be taken up by `restore`.

        Raises:
          UnimplementedError: readers of this kind cannot do that.
        """
        if not self.serializes:
            raise errors.unimplemented("Reader SerializeState")
        with self._lock:
            state: bytes = ReaderBaseState(
                work_started=self._started,
                work_finished=self._finished,
                num_records_produced=self._produced,
                current_work=self._work,
            ).SerializeToString()
        return state

    def restore(self, state: bytes) -> None:
        """Restore a state.

        Raises:
          UnimplementedError: readers of this kind cannot do that.
          InvalidArgumentError: it is no such state.
        """
        if not self.serializes:
            raise errors.unimplemented("Reader RestoreState")
        with self._lock:
            self._clear()
            message = self._parsed(state)
            self._started, self._finished = message.work_started, message.work_finished
            self._produced, self._work = message.num_records_produced, message.current_work

    def _parsed(self, state: bytes) -> Any:
        message = ReaderBaseState()
        try:
            message.ParseFromString(state)
        except Exception:
            text = state.decode("latin-1").encode("unicode_escape").decode()
            raise errors.invalid_argument(
                f"Could not parse state for {self.name}: {text}"
            ) from None
        counts = (message.work_started, message.work_finished, message.num_records_produced)
        if min(counts) < 0:
            raise errors.invalid_argument(
                f"Unexpected negative value when restoring in {self.name}: {message}"
            )
        if message.work_started > message.work_finished:
            raise errors.invalid_argument(
                f"Inconsistent work started vs. finished when restoring in {self.name}: {message}"
            )
        return message
