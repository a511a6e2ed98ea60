"""Streams that zlib packs and unpacks."""

from __future__ import annotations

import re
import zlib
from types import TracebackType
from typing import Any

from stillflow import errors
from stillflow.files.failures import data_loss
from stillflow.platform import tf_logging as logging

_WINDOW = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
_CHUNK = 1 << 18
_MAGIC = b"\x1f\x8b\x08"  # a member of a gzip file begins so
_ZLIB_ERROR = re.compile(r"Error (-\d+)[^:]*(?:: (.*))?")


class CompressedWriter:
    """Writer of compressed files, equal to TensorFlow's byte for byte.

    Args:
      file: where the compressed bytes go; closed with this.
      kind: "ZLIB" or "GZIP".
      window_bits, level, method, mem_level, strategy: zlib's.
      flush_mode: how zlib is flushed when the input buffer is full.
      input_size: the size of this buffer.

    Raises:
      InvalidArgumentError: If zlib takes none of that.
    """

    def __init__(
        self,
        file: Any,
        kind: str,
        window_bits: int | None = None,
        level: int = zlib.Z_DEFAULT_COMPRESSION,
        method: int = zlib.DEFLATED,
        mem_level: int = 9,
        strategy: int = zlib.Z_DEFAULT_STRATEGY,
        flush_mode: int = zlib.Z_NO_FLUSH,
        input_size: int = 256 << 10,
    ) -> None:
        bits = _WINDOW[kind] if window_bits is None else window_bits
        try:
            self._stream = zlib.compressobj(level, method, bits, mem_level, strategy)
        except (ValueError, zlib.error):
            file.close()
            raise errors.invalid_argument("deflateInit failed with status-2") from None
        self._file = file
        self._flush_mode = flush_mode
        self._input_size = input_size
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Compress some bytes."""
        if self._size + len(data) > self._input_size:
            self._deflate(self._flush_mode)
        self._waiting.append(data)
        self._size += len(data)
        if self._size > self._input_size:
            self._deflate(self._flush_mode)

    def _deflate(self, flush_mode: int) -> None:
        if self._waiting:
            self._file.write(self._stream.compress(b"".join(self._waiting)))
        if flush_mode != zlib.Z_NO_FLUSH:
            self._file.write(self._stream.flush(flush_mode))
        self._waiting, self._size = [], 0

    def flush(self) -> None:
        """Write all pending data, so that a reader can decompress it."""
        self._deflate(zlib.Z_PARTIAL_FLUSH)
        self._file.flush()

    def close(self) -> None:
        """End the compressed stream and close the file."""
        with self._file:
            self._deflate(zlib.Z_FINISH)

    def __del__(self) -> None:
        try:
            if not self._file.closed:
                self.close()
        except (AttributeError, OSError, ValueError, zlib.error):
            pass  # the interpreter is ending, or the disk is full


class DecompressedReader:
    """Unpacks a compressed file while it is read.

    A gzip file may have several members, with zeros between them: all are read, where TensorFlow
    ends after the first one. Other bytes behind the compressed data are ignored with a warning.

    Args:
      file: the compressed file; closed with this.
      kind: "ZLIB" or "GZIP".
    """

    def __init__(self, file: Any, kind: str) -> None:
        self._file = file
        self._kind = kind
        self._stream = zlib.decompressobj(_WINDOW[kind])
        self._input = b""
        self._is_over = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; none at the end, also of a truncated stream.

        Raises:
          DataLossError: If these are no compressed bytes, or damaged ones.
        """
        while not self._is_over:
            if self._stream.eof and not self._begin_member():
                break
            if not self._input:
                self._input = self._file.read(_CHUNK)
                if not self._input:
                    break
            try:
                data = self._stream.decompress(self._input, size)
            except zlib.error as error:
                raise data_loss(inflate_error(error), self._path) from None
            self._input = self._stream.unconsumed_tail or self._stream.unused_data
            if data:
                return data
        return b""

    def _begin_member(self) -> bool:
        """Begin the next member of a gzip file; return False if there is none."""
        if self._kind == "GZIP":
            self._skip_padding()
            if self._input.startswith(_MAGIC):
                self._stream = zlib.decompressobj(_WINDOW[self._kind])
                return True
        if self._input or self._file.read(1):
            logging.warning("%s: ignoring bytes behind the end of its compressed data", self._path)
        self._is_over = True
        return False

    def _skip_padding(self) -> None:
        """Go to the next byte that is not zero, with as many as tell a member behind it."""
        while True:
            self._input = self._input.lstrip(b"\0")
            if len(self._input) >= len(_MAGIC):
                return
            more = self._file.read(_CHUNK)
            if not more:
                return
            self._input += more

    @property
    def _path(self) -> str:
        return str(getattr(self._file, "name", "") or "the file")

    @property
    def has_ended(self) -> bool:
        """True if the end of the compressed stream was read; False if the stream was truncated."""
        return bool(self._stream.eof)

    def __enter__(self) -> DecompressedReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def inflate_error(error: zlib.error) -> str:
    """Return TensorFlow's message for data that zlib cannot decompress."""
    match = _ZLIB_ERROR.match(str(error))
    if match is None:
        return f"inflate() failed: {error}"
    return f"inflate() failed with error {match[1]}" + (f": {match[2]}" if match[2] else "")
