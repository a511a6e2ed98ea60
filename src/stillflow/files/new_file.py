"""New files, written by threads while the next pieces are copied and summed.

One that is to be on the disk when it is closed goes around the page cache (O_DIRECT) if it is
large, several pieces at a time: nothing is left to wait for in the end. File systems that have no
such thing, and small files, are written as usual.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import queue
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from stillflow.files import atomic, crc32c
from stillflow.files.failures import os_errors

_BUFFER = 4 << 20
_BUFFERS = 4
_CACHED_BUFFER = 1 << 19  # stays in the processor's cache until it is in the page cache
_PIECE = 1 << 18  # copied and summed at once
_DIRECT = getattr(os, "O_DIRECT", 0)
_AS_USUAL = (errno.EINVAL, errno.EOPNOTSUPP)


class NewFile:
    """A file that does not exist yet, written from its start to its end.

    Args:
      path: where it is to be.
      sync: whether it is to be on the disk when it is closed; else the operating system has it.

    Raises:
      OpError: If it cannot be made; when writing or closing, if it cannot be written.
    """

    def __init__(self, path: str, sync: bool = True) -> None:
        self.path = path
        self._sync = sync
        with os_errors(path):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            self._file: int | None = os.open(path, flags, 0o644)
        self._start = 0  # where the buffer belongs in the file
        self._used = 0
        self._size = _BUFFER if sync else _CACHED_BUFFER
        self._buffer = _new_buffer(self._size)
        self._free: queue.SimpleQueue[np.ndarray[Any, Any]] = queue.SimpleQueue()
        self._made = 1
        self._pool: ThreadPoolExecutor | None = None
        self._writing: list[Future[None]] = []

    def append(self, content: Any) -> int:
        """Writes bytes, of a copy: other threads may change `content` meanwhile.

        Args:
          content: bytes, or an array of uint8 in one dimension.

        Returns:
          The CRC32C of what is written.
        """
        octets = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content
        crc = position = 0
        while position < octets.size:
            if self._used == self._size:
                self._hand_over()
            size = min(octets.size - position, self._size - self._used, _PIECE)
            piece = self._buffer[self._used : self._used + size]
            np.copyto(piece, octets[position : position + size])
            crc = crc32c.extend(crc, piece)
            self._used += size
            position += size
        return crc

    def close(self) -> None:
        """Writes what is left; with `sync`, waits until all of it is on the disk."""
        assert self._file is not None
        with os_errors(self.path):
            self._wait()
            if self._start and self._sync:
                _write_as_usual(self._file)
            _write_all(self._file, self._buffer[: self._used].data, self._start)
            if self._sync:
                atomic.sync_file(self._file)
            self._release()

    def abandon(self) -> None:
        """Removes the file."""
        with contextlib.suppress(OSError):
            self._wait()
        self._release()
        atomic.remove(self.path)

    def _hand_over(self) -> None:
        """Has the full buffer written, and takes another."""
        assert self._file is not None
        with os_errors(self.path):
            if self._pool is None:
                if self._sync:
                    _write_directly(self._file)
                # Writes to the page cache take turns at the file anyway.
                several = self._sync and hasattr(os, "pwrite")
                self._pool = ThreadPoolExecutor(_BUFFERS if several else 1, "save")
            for done in [future for future in self._writing if future.done()]:
                done.result()
                self._writing.remove(done)
        self._writing.append(self._pool.submit(self._write, self._buffer, self._start))
        self._start += self._size
        self._used = 0
        if self._made < _BUFFERS:
            self._made += 1
            self._buffer = _new_buffer(self._size)
        else:
            self._buffer = self._free.get()

    def _write(self, buffer: np.ndarray[Any, Any], start: int) -> None:
        assert self._file is not None
        try:
            _write_all(self._file, buffer.data, start)
        finally:
            self._free.put(buffer)

    def _wait(self) -> None:
        """Waits for what is being written; OSError if that fails."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        writing, self._writing = self._writing, []
        for future in writing:
            future.result()

    def _release(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _new_buffer(size: int) -> np.ndarray[Any, Any]:
    """Memory that begins at a page, as O_DIRECT wants it."""
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)


def _write_all(file: int, content: memoryview, start: int) -> None:
    direct = bool(_DIRECT)
    while content:
        try:
            count = _write_at(file, content, start)
        except OSError as error:
            if not direct or error.errno not in _AS_USUAL:
                raise
            _write_as_usual(file)
            direct = False
            continue
        content = content[count:]
        start += count
        if content and start % mmap.PAGESIZE:  # a disk that is almost full
            _write_as_usual(file)


def _write_at(file: int, content: memoryview, start: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, content, start)
    os.lseek(file, start, os.SEEK_SET)  # on Windows one buffer is written at a time
    return os.write(file, content)


def _write_directly(file: int) -> None:
    """Has the file written around the page cache from now on, if that can be."""
    if _DIRECT:
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | _DIRECT)


def _write_as_usual(file: int) -> None:
    """Has the file written through the page cache from now on."""
    if _DIRECT:
        import fcntl

        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) & ~_DIRECT)
