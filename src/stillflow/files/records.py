"""TFRecord files: records of bytes, each with its length and two checksums.

A record is its length (8 bytes, little-endian), the masked CRC32C of these, the data and the
masked CRC32C of the data. A whole file may be compressed by zlib or gzip.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import Any

import google_crc32c
import numpy as np

from stillflow import errors
from stillflow._export import export
from stillflow.files import compression
from stillflow.files.crc32c import masked_crc32c
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.filesystem import name_of, open_file
from stillflow.util.deprecation import deprecated

HEADER = 12
FOOTER = 4
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_CHUNK = 1 << 18
_BUFFER = 1 << 16
_FEW = 64  # up to here NumPy takes longer to start than it saves
_KNOWN = 4096  # how many headers to remember


@export("io.TFRecordCompressionType", "python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How a TFRecord file is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("io.TFRecordOptions", "python_io.TFRecordOptions")
class TFRecordOptions:
    """How a TFRecord file is compressed, and how zlib is to do it.

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

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Returns "ZLIB", "GZIP" or "" for options, a compression type or its name.

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
        """Returns what `compression.CompressedWriter` is to be told."""
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
    """Writes a TFRecord file; usable in a `with` block.

    Args:
      path: the file, with a scheme (gs://, s3://, memory://) if it is not on the disk.
      options: a `TFRecordOptions`, a `TFRecordCompressionType` or the name of one.

    Raises:
      OpError: If the file cannot be opened.
      ValueError: If there is no such compression.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        arguments = options.compressor_arguments()
        self._path = name_of(path)
        self._headers: dict[int, bytes] = {}
        self._waiting: list[bytes] = []
        self._size = 0
        self._file: Any = open_file(self._path, "wb")
        self._compressed = bool(arguments["kind"])
        if self._compressed:
            self._file = compression.CompressedWriter(self._file, **arguments)

    def write(self, record: bytes) -> None:
        """Appends a record.

        Args:
          record: bytes; strings of text have to be encoded first.
        """
        if type(record) is not bytes:
            record = _as_bytes(record)
        if self._file is None:
            raise _closed()
        length = len(record)
        crc = google_crc32c.extend(0, record)
        # One step, so that records of several threads do not mix.
        self._waiting.extend((
            self._headers.get(length) or self._header(length),
            record,
            _CRC.pack(((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF),
        ))
        self._size += length + HEADER + FOOTER
        if self._size > _BUFFER:
            self._hand_over()

    def _hand_over(self) -> None:
        """Writes the records that are waiting."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        with os_errors(self._path):
            if self._compressed:  # piece by piece: where zlib flushes depends on it
                for piece in waiting:
                    self._file.write(piece)
            else:
                self._file.write(b"".join(waiting))

    def _header(self, length: int) -> bytes:
        encoded = _LENGTH.pack(length)
        header = encoded + _CRC.pack(masked_crc32c(encoded))
        if len(self._headers) < _KNOWN:
            self._headers[length] = header
        return header

    def flush(self) -> None:
        """Hands all records to the operating system."""
        if self._file is None:
            raise _closed()
        self._hand_over()
        with os_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        """Writes what is left and closes the file."""
        if self._file is not None:
            try:
                self._hand_over()
            finally:
                file, self._file = self._file, None
                with os_errors(self._path):
                    file.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # never opened, or the interpreter is ending

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _closed() -> errors.OpError:
    return errors.FailedPreconditionError(
        None, None, "Writer not initialized or previously closed"
    )


def _as_bytes(record: Any) -> bytes:
    if isinstance(record, (bytes, bytearray, memoryview)):
        return bytes(record)
    raise TypeError(f"expected bytes, {type(record).__name__} found")


def open_records(path: Any, kind: str = "") -> Any:
    """Opens a TFRecord file for reading, as a file of uncompressed bytes.

    Args:
      path: the file.
      kind: "", "ZLIB" or "GZIP".
    """
    file = open_file(path, "rb")
    return compression.DecompressedReader(file, kind) if kind else file


class Cursor:
    """Reads the records of an open file one after the other.

    Attributes:
      offset: where in the (uncompressed) bytes the next record starts.
      rest: how many bytes were left that are too few to begin a record, when it has ended.
    """

    def __init__(self, file: Any, path: str, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.rest = 0
        self._source = _Positioned(file) if _is_plain(file) else _Sequential(file, offset)
        self._known: dict[bytes, int] = {}

    def __iter__(self) -> Iterator[bytes]:
        """Yields each record; see `batches`."""
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[bytes]]:
        """Yields the records, as many at a time as were read at once.

        Raises:
          DataLossError: If a checksum is wrong or the file ends within a record's data; after the
            records before that place.
        """
        wanted = HEADER
        while True:
            with os_errors(self.path):
                buffer = self._source.read(self.offset, wanted)
            if len(buffer) < HEADER:
                # What is being written, or was cut off, ends here: TensorFlow calls it the end.
                self.rest = len(buffer)
                return
            if len(buffer) < wanted:
                raise data_loss(f"truncated record at {self.offset}", self.path)
            records, ends, wanted = self._split(buffer)
            good = _first_difference(buffer, records, ends)
            if good == len(records):
                if records:
                    yield records
                    self.offset += ends[-1]
                if not wanted:
                    raise data_loss(f"corrupted record at {self.offset}", self.path)
            else:
                yield records[:good]
                self.offset += ends[good - 1] if good else 0
                raise data_loss(f"corrupted record at {self.offset + HEADER}", self.path)

    def _split(self, buffer: bytes) -> tuple[list[bytes], list[int], int]:
        """Cuts bytes into records.

        Returns:
          The records that are there as a whole, where each ends with what is around it, and how
          many bytes are needed to go on: 0 if the next header is damaged.
        """
        records = _alike(buffer)
        size = len(records[0]) + HEADER + FOOTER if records else 0
        start = size * len(records)
        ends, wanted = self._ends(buffer, start)
        records += [
            buffer[begin + HEADER:end - FOOTER] for begin, end in zip([start, *ends], ends)
        ]
        return records, [*range(size, start + 1, size), *ends] if size else ends, wanted

    def _ends(self, buffer: bytes, position: int) -> tuple[list[int], int]:
        """Where the whole records from a place on end, and how many bytes are needed to go on."""
        known, begin = self._known, position
        ends: list[int] = []
        add = ends.append
        while True:
            try:
                while True:  # what lies behind the end of the buffer is no header that is known
                    position += known[buffer[position:position + HEADER]]
                    add(position)
            except KeyError:
                pass
            if position > len(buffer):
                ends.pop()
                return ends, position - (ends[-1] if ends else begin)
            header = buffer[position:position + HEADER]
            if len(header) < HEADER:
                return ends, HEADER
            size = _size(header)
            if not size:
                return ends, 0
            if len(known) < _KNOWN:
                known[header] = size
            position += size
            add(position)


def _alike(buffer: bytes) -> list[bytes]:
    """Returns the whole records at the start that are as long as the first, if there are many."""
    header = buffer[:HEADER]
    size = _size(header)
    rows = len(buffer) // size if size else 0
    if rows < _FEW or header != buffer[size:size + HEADER]:
        return []
    table = np.frombuffer(buffer, np.uint8, rows * size).reshape(rows, size)[:, :HEADER]
    same = (table == table[:1]).all(1)
    rows = rows if same.all() else int(same.argmin())
    record = struct.Struct(f"{HEADER}x{size - HEADER - FOOTER}s{FOOTER}x")
    return list(chain.from_iterable(record.iter_unpack(memoryview(buffer)[:rows * size])))


def _size(header: bytes) -> int:
    """The size of a whole record with this header, 0 if the header is damaged."""
    if masked_crc32c(header[:8]) != _CRC.unpack_from(header, 8)[0]:
        return 0
    return int(_LENGTH.unpack_from(header)[0]) + HEADER + FOOTER


def _first_difference(buffer: bytes, records: list[bytes], ends: list[int]) -> int:
    """Returns the index of the first record whose checksum differs from that behind it."""
    if len(records) < _FEW:
        for index, (record, end) in enumerate(zip(records, ends)):
            if masked_crc32c(record) != _CRC.unpack_from(buffer, end - FOOTER)[0]:
                return index
        return len(records)
    crcs = np.fromiter(map(google_crc32c.value, records), np.uint32, len(records))
    # The integer that begins at each byte; those behind the records are looked at.
    integers = np.ndarray((len(buffer) - FOOTER + 1,), "<u4", buffer, strides=(1,))
    masked = (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(0xA282EAD8)
    differs = masked != integers[np.array(ends) - FOOTER]
    return int(differs.argmax()) if differs.any() else len(records)


class _Positioned:
    """A file on the disk, read at any place."""

    def __init__(self, file: Any) -> None:
        self._descriptor = file.fileno()

    def read(self, offset: int, wanted: int) -> bytes:
        """Reads from `offset`: at least `wanted` bytes, fewer if the file ends before."""
        size = _CHUNK
        if wanted > size:  # nobody allocates what a damaged length asks for
            size = max(size, min(wanted, os.fstat(self._descriptor).st_size - offset))
        data = os.pread(self._descriptor, size, offset)
        if not data or len(data) >= min(wanted, size):
            return data
        parts, count = [data], len(data)
        while count < wanted and (data := os.pread(self._descriptor, _CHUNK, offset + count)):
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
        """As above; `offset` never goes back."""
        parts = [self._buffer[offset - self._start:]]
        count = len(parts[0])
        while count < wanted and (chunk := self._file.read(_CHUNK)):
            parts.append(chunk)
            count += len(chunk)
        self._buffer, self._start = b"".join(parts), offset
        return self._buffer


def _is_plain(file: Any) -> bool:
    """Whether a file is one of the operating system's, of which any part can be read."""
    return hasattr(os, "pread") and isinstance(file, io.BufferedReader) and file.seekable()


def read_records(path: Any, kind: str = "") -> Iterator[bytes]:
    """Yields the records of a file.

    Args:
      path: the file.
      kind: "", "ZLIB" or "GZIP".

    Raises:
      OpError: If the file cannot be opened.
      DataLossError: If a checksum is wrong or the file ends within a record's data.
    """
    for batch in _batches(path, kind):
        yield from batch


@export("io.tf_record_iterator", "python_io.tf_record_iterator")
@deprecated(
    date=None,
    instructions="Use eager execution and: \n`tf.data.TFRecordDataset(path)`",
)
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a TFRecord file.

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
