"""New files, written by several threads: each copies a piece, sums it and writes it.

The copy guarantees that the checksum covers the written bytes, even if another thread of the
program changes the memory meanwhile. A piece is small enough to stay in the processor's cache until
the operating system has it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from stillflow.files import atomic, crc32c
from stillflow.files.failures import os_errors

SPAN = 4 << 20  # a thread's share at a time
_PIECE = 1 << 19  # copied, summed and written at once
_WORKERS = min(os.cpu_count() or 1, 4)
_AHEAD = 16  # spans that may wait: so much memory stays taken that its owner has given up
_RESERVED = 1 << 20  # files of at least so many bytes get their blocks at once


class Sum:
    """The checksum of bytes that threads are writing."""

    def __init__(self, spans: list[tuple[Future[int], int]]) -> None:
        self._spans = spans

    def result(self) -> int:
        """Return the CRC32C of all of them, once they are written."""
        crc = 0
        for number, (future, size) in enumerate(self._spans):
            crc = crc32c.combine(crc, future.result(), size) if number else future.result()
        return crc


class NewFile:
    """A file that does not exist yet, written from its start to its end.

    Args:
      path: Where it is to be.
      sync: Whether it is to be on the disk when it is closed; else the operating system has it.
      size: How many bytes it will have, if that is known: their place is reserved.

    Raises:
      OpError: If it cannot be made; when writing or closing, if it cannot be written.
    """

    def __init__(self, path: str, sync: bool = False, size: int = 0) -> None:
        self.path = path
        self.size = 0  # number of appended bytes
        self._sync = sync
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[int]] = deque()
        self._free: list[np.ndarray[Any, Any]] = []
        self._turn = threading.Lock()
        self._reserved = size if size >= _RESERVED else 0
        with os_errors(path):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            self._file: int | None = os.open(path, flags, 0o644)
            try:
                if self._reserved:
                    _reserve(self._file, size)
            except OSError:
                self.abandon()
                raise

    def append(self, content: bytes) -> None:
        """Write some bytes, together with others."""
        self._tail.append(content)
        self._tail_size += len(content)
        self.size += len(content)
        if self._tail_size >= SPAN:
            self._flush()

    def append_array(self, octets: np.ndarray[Any, Any]) -> Sum:
        """Has many bytes written, of a copy that is made later.

        Args:
          octets: uint8, [n], contiguous.
        """
        self._flush()
        spans = []
        for start in range(0, octets.size, SPAN):
            span = octets[start : start + SPAN]
            spans.append((self._submit(span, self.size), span.size))
            self.size += span.size
        return Sum(spans)

    def close(self) -> None:
        """Wait until all is written; with `sync`, until it is on the disk."""
        assert self._file is not None
        with os_errors(self.path):
            if self._pool is None:
                self._write(b"".join(self._tail), self.size - self._tail_size)
            else:
                self._flush()
                self._wait()
            if self._reserved > self.size:
                os.truncate(self._file, self.size)
            if self._sync:
                atomic.sync_file(self._file)
            self._release()

    def abandon(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            self._wait()
        self._release()
        atomic.remove(self.path)

    def _flush(self) -> None:
        """Make threads write the small pieces."""
        if self._tail:
            content = np.frombuffer(b"".join(self._tail), np.uint8)
            self._submit(content, self.size - self._tail_size)
            self._tail, self._tail_size = [], 0

    def _submit(self, octets: np.ndarray[Any, Any], start: int) -> Future[int]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_WORKERS, "save")
        if len(self._waiting) >= _AHEAD:
            with os_errors(self.path):
                self._waiting.popleft().result()
        future = self._pool.submit(self._write_span, octets, start)
        self._waiting.append(future)
        return future

    def _write_span(self, octets: np.ndarray[Any, Any], start: int) -> int:
        """Write a copy of bytes; give their checksum."""
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = np.empty(_PIECE, np.uint8)
        crc = 0
        for at in range(0, octets.size, _PIECE):
            piece = buffer[: octets.size - at]
            np.copyto(piece, octets[at : at + _PIECE])
            crc = crc32c.extend(crc, piece)
            self._write(piece.data, start + at)
        self._free.append(buffer)
        return crc

    def _write(self, content: bytes | memoryview, start: int) -> None:
        assert self._file is not None
        rest = memoryview(content)
        while rest:
            if hasattr(os, "pwrite"):
                count = os.pwrite(self._file, rest, start)
            else:
                with self._turn:
                    os.lseek(self._file, start, os.SEEK_SET)
                    count = os.write(self._file, rest)
            rest = rest[count:]
            start += count

    def _wait(self) -> None:
        """Wait for pending writes; OSError if one fails."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        while self._waiting:
            self._waiting.popleft().result()

    def _release(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _reserve(file: int, size: int) -> None:
    """Have the file system choose the blocks of a file at once, where it knows how to.

    `os.posix_fallocate` would write into every block where it does not. OSError if it is full.
    """
    function = _fallocate()
    if function is not None and function(file, 0, 0, size) and ctypes.get_errno() == errno.ENOSPC:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@cache
def _fallocate() -> Any:
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).fallocate64
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return function
