"""Event files: TFRecord files of `Event` messages, named after the time and the machine."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.files.failures import data_loss
from stillflow.files.filesystem import name_of
from stillflow.files.gfile import file_exists, is_directory, recursive_create_dir
from stillflow.files.records import TFRecordWriter, read_records
from stillflow.platform import tf_logging as logging
from stillflow.protos import Event

VERSION = "brain.Event:2"


class EventsWriter:
    """Writer of an event file, which is created with the first event.

    Args:
      file_prefix: the prefix of the file names, its directory included.
    """

    def __init__(self, file_prefix: Any) -> None:
        self._prefix = name_of(file_prefix)
        self._suffix = ""
        self._name = ""
        self._writer: TFRecordWriter | None = None
        self._outstanding = 0

    def InitWithSuffix(self, suffix: Any) -> None:
        """Create the file, with a name that ends in the suffix."""
        self._suffix = name_of(suffix)
        self._init()

    def open(self) -> None:
        """Make the file, unless it is open."""
        if self._writer is None:
            self._init()

    def _init(self) -> TFRecordWriter:
        """Create the file, or a new one instead of one that has disappeared."""
        if self._writer is not None:
            if file_exists(self._name):
                return self._writer
            logging.warning(f"The events file {self._name} has disappeared; opening a new one")
            self._discard()
        folder = os.path.dirname(self._prefix)
        if folder and not is_directory(folder):  # the whole log was swept away
            recursive_create_dir(folder)
        now = int(time.time())
        self._name = f"{self._prefix}.out.tfevents.{now:010d}.{socket.gethostname()}{self._suffix}"
        writer = self._writer = TFRecordWriter(self._name)
        writer.write(Event(wall_time=now, file_version=VERSION).SerializeToString())
        writer.flush()
        self._outstanding = 0
        return writer

    def _discard(self) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
        except errors.OpError:
            pass  # the file no longer exists anyway
        self._writer = None

    def FileName(self) -> str:
        """Return the file's name; create the file if it does not exist."""
        if not self._name:
            self._init()
        return self._name

    def WriteEvent(self, event: Any) -> None:
        """Write an `Event`."""
        self.write_serialized(event.SerializeToString())

    def write_serialized(self, event: bytes) -> None:
        """Write a serialized `Event`."""
        (self._writer or self._init()).write(event)
        self._outstanding += 1

    def Flush(self) -> bool:
        """Flush all events to the operating system; return True.

        Raises:
          OpError: If it does not take them.
        """
        if self._outstanding and self._writer is not None:
            self._writer.flush()
            self._outstanding = 0
            self._init()
        return True

    def Close(self) -> bool:
        """Write pending events and close the file; another event begins a new file."""
        writer, self._writer, self._outstanding = self._writer, None, 0
        if writer is not None:
            writer.close()
        return True


def read_events(path: Any) -> Iterator[Any]:
    """Yield the events of a file; DataLossError if a checksum is wrong, or a record is no event."""
    for content in read_records(path):
        try:
            yield Event.FromString(content)
        except DecodeError:
            raise data_loss("a record is no Event message", name_of(path)) from None
