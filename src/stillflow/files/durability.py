"""Files that are taken to the disk while the program goes on.

A file that has been written is safe from a kill: the operating system has it. To be safe from a
loss of power it has to be on the disk, and waiting for that takes several times as long as writing.
So a thread waits for it, the newest files first, once the program has not saved for a second: disk
writes slow down the program's own writes, renames and deletions. The program waits only before it
deletes the last checkpoint that is known to be on the disk; not even then if it saves every few
seconds. The end of the program waits too. The same thread deletes files, which takes its time as
well.

A checkpoint that replaces one of the same prefix does so at once, before it is on the disk: a loss
of power in the seconds after that may take both. TensorFlow, which never waits, risks that, too.
With STILLFLOW_SYNC_SAVES=1 in the environment every save waits, and nothing can be lost.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import sleep  # the tests of programs replace time.sleep

from stillflow.files import atomic
from stillflow.files.failures import from_os
from stillflow.files.local_path import is_remote, plain_path
from stillflow.platform import tf_logging as logging
from stillflow.util.threads import our_thread

_PAUSE = 0.03  # seconds between checks for work
_QUIET = 1.0  # seconds without a save before one goes to the disk
_LARGE = 1 << 20
_OFTEN = 5.0  # seconds; who saves that often is not made to wait for the disk
_VARIABLE = "STILLFLOW_SYNC_SAVES"
_OPEN = os.O_RDWR | getattr(os, "O_BINARY", 0) if os.name == "nt" else os.O_RDONLY


def waits() -> bool:
    """Return True if every save is to wait for the disk."""
    return os.environ.get(_VARIABLE, "") not in ("", "0")


def sync(paths: Sequence[str]) -> None:
    """Wait until files and their names are on the disk, or OpError; ignore deleted ones."""
    for path in paths:
        try:
            descriptor = os.open(path, _OPEN)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os(error, path) from None
        try:
            atomic.sync_file(descriptor)
        except OSError as error:
            raise from_os(error, path) from None
        finally:
            os.close(descriptor)
    for directory in sorted({os.path.dirname(path) for path in paths}):
        atomic.sync_directory(directory)


class WriteBack:
    """Thread that syncs checkpoints to the disk and ends when none are left."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, Sequence[str]] = {}
        self._added: dict[str, float] = {}
        self._failed: dict[str, Exception] = {}
        self._removed: list[int] = []
        self._current: str | None = None
        self._working = False
        self._due = 0.0  # when the thread may begin
        self._urged = 0  # by how many who wait for it

    def add(self, prefix: str, paths: Sequence[str]) -> None:
        """Has the files of a checkpoint, complete and under their names, taken to the disk."""
        if waits():
            sync(paths)
            return
        with self._changed:
            key = _key(prefix)
            self._failed.pop(key, None)
            self._waiting.pop(key, None)
            self._waiting[key] = tuple(paths)
            self._added[key] = time.monotonic()
            self._due = self._added[key] + _QUIET
        self._start()

    def remove(self, path: str) -> None:
        """Delete a file: its name at once, its content when there is time.

        Raises:
          OSError: If it cannot be deleted.
        """
        # An open file keeps its content; the last close waits for its deletion.
        descriptor = None
        if os.name != "nt" and os.path.getsize(path) >= _LARGE:
            descriptor = os.open(path, _OPEN)
        try:
            os.remove(path)
        finally:
            if descriptor is not None:
                with self._changed:
                    self._removed.append(descriptor)
                self._start()

    def _start(self) -> None:
        with self._changed:
            if self._working:
                return
            self._working = True
        try:
            our_thread(threading.Thread(target=self._work, name="write back")).start()
        except RuntimeError:  # the interpreter is ending, or there are too many threads
            self._work()

    def forget(self, prefix: str) -> None:
        """Says that a checkpoint is deleted: nobody waits for it any more."""
        with self._changed:
            self._waiting.pop(_key(prefix), None)
            self._failed.pop(_key(prefix), None)
            self._added.pop(_key(prefix), None)

    def wait(self) -> None:
        """Wait until everything is on the disk.

        Raises:
          OpError: If the disk reported an error for one of the files.
        """
        with self._urging():
            self._changed.wait_for(lambda: not self._working)
            for error in self._failed.values():
                raise error

    def wait_for_one(self, prefixes: Iterable[str]) -> None:
        """Wait until at least one of some checkpoints is on the disk, unless all are very new.

        Raises:
          OpError: If the disk reported errors for all of them.
        """
        keys = {_key(prefix) for prefix in prefixes}
        new = time.monotonic() - _OFTEN
        with self._urging():
            if all(self._added.get(key, 0.0) > new for key in keys):
                return
            while keys:
                failed = keys & self._failed.keys()
                waiting = {key for key in keys if key in self._waiting or key == self._current}
                if failed | waiting != keys:
                    return
                if not waiting:
                    raise self._failed[failed.pop()]
                self._changed.wait()

    @contextmanager
    def _urging(self) -> Iterator[None]:
        with self._changed:
            self._urged += 1
            try:
                yield
            finally:
                self._urged -= 1

    def _may_begin(self) -> bool:
        over = not threading.main_thread().is_alive()
        return bool(self._urged or over or time.monotonic() >= self._due)

    def _work(self) -> None:
        while True:
            sleep(_PAUSE)
            with self._changed:
                self._current = None
                removed, self._removed = self._removed, []
                if not (self._waiting or removed):
                    self._working = False
                self._changed.notify_all()
                if not self._working:
                    return
                paths: Sequence[str] = ()
                if self._waiting and self._may_begin():
                    self._current, paths = self._waiting.popitem()
            for descriptor in removed:
                os.close(descriptor)
            try:
                sync(paths)
            except Exception as error:
                self._report(self._current or "", error)

    def _report(self, key: str, error: Exception) -> None:
        logging.error("The checkpoint %s may not outlive a loss of power: %s", key, error)
        with self._changed:
            self._failed[key] = error


def _key(prefix: str) -> str:
    return prefix if is_remote(prefix) else os.path.abspath(plain_path(prefix + "x"))[:-1]


write_back = WriteBack()

if hasattr(os, "register_at_fork"):
    # The thread stays with the parent, and with it the work.
    os.register_at_fork(after_in_child=write_back.__init__)  # type: ignore[misc]
