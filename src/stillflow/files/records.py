"""TFRecord files: records of bytes, each in a frame with its length and two checksums.

A whole file may be compressed by zlib or gzip.
"""

from __future__ import annotations

import atexit
import io
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import Any, ClassVar

from stillflow import errors
from stillflow._export import export
from stillflow.files import compression, record_frames
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.filesystem import name_of, open_file
from stillflow.files.record_frames import FRAME, HEADER
from stillflow.util.weak import LiveSet

_CHUNK = 1 << 18
_BUFFER = 1 << 16
_pread: Any = getattr(os, "pread", None)  # None on Windows


@export("io.TFRecordCompressionType", "python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """Compression types of TFRecord files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("io.TFRecordOptions", "python_io.TFRecordOptions")
@dataclass(eq=False, repr=False)
class TFRecordOptions:
    """Compression of a TFRecord file, with zlib's options.

    Args:
      compression_type: "GZIP", "ZLIB", "" or one of `tf.io.TFRecordCompressionType`.
      flush_mode: when zlib ends a block; 0 (when it likes) by default.
      input_buffer_size: how many bytes to gather before compressing them, 256 KiB by default.
      output_buffer_size: how many compressed bytes to gather before writing them.
      window_bits: the base-two logarithm of zlib's window; 15 by default, 31 for GZIP.
      compression_level: 0 to 9; zlib's choice by default.
      compression_method: 8, the only one there is.
      mem_level: 1 to 9, by default 9.
      compression_strategy: one of zlib's strategies, 0 by default.

    Raises:
      ValueError: If there is no such compression type.
    """

    compression_type: Any = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __post_init__(self) -> None:
        self.get_compression_type_string(self.compression_type)

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "ZLIB", "GZIP" or "" for options, a compression type or its name.

        Raises:
          ValueError: If there is no such compression type.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def compressor_arguments(self) -> dict[str, Any]:
        """Return the arguments of `compression.CompressedWriter`."""
        kind = self.get_compression_type_string(self.compression_type)
        arguments = {
            "flush_mode": self.flush_mode,
            "input_size": self.input_buffer_size,
            "window_bits": self.window_bits,
            "level": self.compression_level,
            "method": self.compression_method,
            "mem_level": self.mem_level,
            "strategy": self.compression_strategy,
        }
        return {"kind": kind} | {k: v for k, v in arguments.items() if v is not None}


@export("io.TFRecordWriter", "python_io.TFRecordWriter")
class TFRecordWriter:
    """Writer of a TFRecord file; usable in a `with` block.

    Args:
      path: the file, with a scheme (gs://, s3://, memory://) if it is not on the disk.
      options: a `TFRecordOptions`, a `TFRecordCompressionType` or the name of one.

    Raises:
      OpError: If the file cannot be opened.
      ValueError: If there is no such compression.

    Example:
      >>> with tf.python_io.TFRecordWriter("data.tfrecord") as writer:
      ...     for record in (b"first", b"second"): writer.write(record)
      >>> list(tf.python_io.tf_record_iterator("data.tfrecord"))
      [b'first', b'second']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        arguments = options.compressor_arguments()
        self._path = name_of(path)
        self._waiting: list[bytes] = []
        self._size = 0
        self._handing_over = threading.RLock()
        self._file: Any = open_file(self._path, "wb")
        self._compressed = bool(arguments["kind"])
        if self._compressed:
            self._file = compression.CompressedWriter(self._file, **arguments)
        _open.add(self)

    def write(self, record: bytes) -> None:
        """Append a record.

        Args:
          record: bytes; strings of text have to be encoded first.
        """
        if type(record) is not bytes:
            record = _as_bytes(record)
        if self._file is None:
            raise _closed()
        self._waiting.append(record)
        self._size += len(record) + FRAME
        if self._size > _BUFFER:
            self._hand_over()

    def _hand_over(self) -> None:
        """Write the records that are waiting."""
        with self._handing_over, os_errors(self._path):
            records = self._waiting.copy()
            del self._waiting[: len(records)]  # other threads may have added some meanwhile
            self._size = 0
            if self._compressed:  # piece by piece: where zlib flushes depends on it
                for piece in record_frames.pieces(records):
                    self._file.write(piece)
            else:
                self._file.write(record_frames.framed(records))

    def flush(self) -> None:
        """Hand all records to the operating system."""
        if self._file is None:
            raise _closed()
        self._hand_over()
        with os_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        """Flush and close the file."""
        if self._file is not None:
            try:
                self._hand_over()
            finally:
                file, self._file = self._file, None
                with os_errors(self._path):
                    file.close()

    def __del__(self) -> None:
        try:  # the interpreter, when it ends, takes away modules: nothing imported is at hand
            self.close()
        except Exception:  # never opened, or half taken apart
            pass

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_open: LiveSet[TFRecordWriter] = LiveSet()


@atexit.register
def _close_all() -> None:
    """Flush files that programs have left open; Python need not delete reference cycles."""
    for writer in _open:
        writer.__del__()


def _closed() -> errors.OpError:
    return errors.failed_precondition("Writer not initialized or previously closed")


def _as_bytes(record: Any) -> bytes:
    if isinstance(record, (bytes, bytearray, memoryview)):
        return bytes(record)
    raise TypeError(f"expected bytes, {type(record).__name__} found")


def open_records(path: Any, kind: str = "") -> Any:
    """Open a TFRecord file, "", "ZLIB" or "GZIP", to read it as a file of uncompressed bytes."""
    file = open_file(path, "rb")
    return compression.DecompressedReader(file, kind) if kind else file


class Cursor:
    """Reader of an open file's records, one after the other.

    Attributes:
      offset: where in the (uncompressed) bytes the next record starts.
      rest: how many bytes were left that are too few to begin a record, when it has ended.
    """

    def __init__(self, file: Any, path: str, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.rest = 0
        self._source: _Positioned | _Sequential
        if _is_plain(file) and _pread is not None:
            self._source = _Positioned(file)
        else:
            if _is_plain(file):
                file.seek(offset)
            self._source = _Sequential(file, offset)
        self._known: dict[bytes, int] = {}

    def __iter__(self) -> Iterator[bytes]:
        """Yield each record; see `batches`."""
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the records, as many at a time as were read at once.

        Raises:
          DataLossError: If a checksum is wrong or the file ends within a record's data; after the
            records before that place.
        """
        wanted = HEADER
        while True:
            with os_errors(self.path):
                buffer = self._source.read(self.offset, wanted)
            if len(buffer) < HEADER:
                # A record being written, or truncated, ends here: TensorFlow calls it the end.
                self.rest = len(buffer)
                return
            if len(buffer) < wanted:
                raise data_loss(f"truncated record at {self.offset}", self.path)
            found = record_frames.cut(buffer, self._known)
            del buffer  # so that its memory serves the next part, and is not given back meanwhile
            if found.records:
                yield found.records
            self.offset += found.size
            if found.fault is not None:
                raise data_loss(f"corrupted record at {self.offset + found.fault}", self.path)
            wanted = found.wanted


class _Positioned:
    """A file on the disk, read at any place."""

    def __init__(self, file: Any) -> None:
        self._descriptor = file.fileno()

    def read(self, offset: int, wanted: int) -> bytes:
        """Read from `offset`: at least `wanted` bytes, fewer if the file ends before."""
        size = _CHUNK
        if wanted > size:  # nobody allocates memory by a damaged length
            size = max(size, min(wanted, os.fstat(self._descriptor).st_size - offset))
        data = _pread(self._descriptor, size, offset)
        if not data or len(data) >= min(wanted, size):
            return data
        parts, count = [data], len(data)
        while count < wanted and (data := _pread(self._descriptor, _CHUNK, offset + count)):
            parts.append(data)
            count += len(data)
        return b"".join(parts)


class _Sequential:
    """A file that is read from its start to its end."""

    def __init__(self, file: Any, offset: int) -> None:
        self._file = file
        self._buffer = b""
        self._start = offset

    def read(self, offset: int, wanted: int) -> bytes:
        """Read a record at `offset`, which never goes back."""
        parts = [self._buffer[offset - self._start :]]
        count = len(parts[0])
        while count < wanted and (chunk := self._file.read(_CHUNK)):
            parts.append(chunk)
            count += len(chunk)
        self._buffer, self._start = b"".join(parts), offset
        return self._buffer


def _is_plain(file: Any) -> bool:
    """Return True for a file of the operating system, which can be read at any offset."""
    return isinstance(file, io.BufferedReader) and file.seekable()


def read_records(path: Any, kind: str = "") -> Iterator[bytes]:
    """Yield the records of a file of the kind "", "ZLIB" or "GZIP".

    DataLossError if a checksum is wrong or the file ends within a record's data. OpError if the
    file cannot be opened.
    """
    for batch in _batches(path, kind):
        yield from batch


@export("io.tf_record_iterator", "python_io.tf_record_iterator")
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a TFRecord file.

    Args:
      path: the file.
      options: a `TFRecordOptions`, a `TFRecordCompressionType` or the name of one.

    Raises:
      OpError: If the file cannot be opened.
      DataLossError: If a checksum is wrong or the file ends within a record's data.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    # A chain goes from record to record faster than a generator does.
    return chain.from_iterable(_batches(path, kind))


def _batches(path: Any, kind: str) -> Iterator[list[bytes]]:
    with open_records(path, kind) as file:
        yield from Cursor(file, name_of(path)).batches()
