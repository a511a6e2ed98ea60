"""GFile: a file anywhere, opened when it is first read or written."""

from __future__ import annotations

from types import TracebackType
from typing import IO, Any

from stillflow import errors
from stillflow._export import export
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import file_system, name_of
from stillflow.platform.compat import as_bytes, as_str_any
from stillflow.util.notices import noticed

_MODES = ("r", "w", "a", "r+", "w+", "a+")


class FileIO:
    """A file to read or write, as text (UTF-8) or, with "b" in its mode, as bytes.

    Reading and writing each open the file when first asked to; a file that nothing is written to
    is not made.

    Args:
      name: its path, with a scheme if it is not on the disk.
      mode: "r", "w", "a", "r+", "w+" or "a+", with a "b" for bytes. Writing begins with an empty
        file unless an "a" is there.

    Raises:
      InvalidArgumentError: If the mode is another.
    """

    def __init__(self, name: Any, mode: str) -> None:
        plain = mode.replace("b", "")
        if plain not in _MODES:
            allowed = " or ".join(f"'{each}'" for each in _MODES)
            raise errors.invalid_argument(f"mode is not {allowed}")
        self._name = name
        self._mode = mode
        self._path: str | None = None
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None
        self._binary = "b" in mode
        self._readable = plain != "w" and plain != "a"
        self._writable = plain != "r"

    @property
    def name(self) -> Any:
        """The name that the file was opened by."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that the file was opened in."""
        return self._mode

    def _resolved(self) -> str:
        if self._path is None:
            self._path = name_of(self._name)
        return self._path

    def _open_reader(self) -> IO[bytes]:
        if self._reader is None:
            if not self._readable:
                raise errors.permission_denied("File isn't open for reading")
            path = self._resolved()
            self._reader = file_system(path).open(path, "rb")
        return self._reader

    def _open_writer(self) -> IO[bytes]:
        if self._writer is None:
            if not self._writable:
                raise errors.permission_denied("File isn't open for writing")
            path = self._resolved()
            self._writer = file_system(path).open(path, "ab" if "a" in self._mode else "wb")
        return self._writer

    def _value(self, data: bytes) -> bytes | str:
        return data if self._binary else as_str_any(data)

    def size(self) -> int:
        """Return the current size of the file in bytes."""
        path = self._resolved()
        return file_system(path).entry(path).length

    def write(self, file_content: Any) -> None:
        """Append text or bytes to the file.

        Raises:
          PermissionDeniedError: If the file is not open for writing.
        """
        writer = self._open_writer()
        with os_errors(self._resolved()):
            writer.write(as_bytes(file_content))

    def read(self, n: int = -1) -> Any:
        """Return up to `n` bytes, by default all remaining ones, as bytes or as text.

        Raises:
          PermissionDeniedError: If the file is not open for reading.
          UnicodeDecodeError: If they are no text and the mode has no "b".
        """
        reader = self._open_reader()
        if n < -1:
            raise OverflowError("can't read a negative number of bytes")
        with os_errors(self._resolved()):
            return_value = reader.read(n)
        return self._value(return_value)

    @noticed("gfile.GFile")
    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move the position of reading.

        Args:
          offset: a number of bytes.
          whence: where they count from: 0 the file's start, 1 the place now, 2 the file's end.
          position: an old name for `offset`.

        Raises:
          InvalidArgumentError: If the place is before the start.
          OutOfRangeError: If it is beyond the end, where reading then goes on.
        """
        reader = self._open_reader()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        target = int(offset if offset is not None else position or 0)
        if whence not in (0, 1, 2):
            raise errors.invalid_argument(
                f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        if whence:
            target += self.tell() if whence == 1 else self.size()
        if target < 0:
            raise errors.invalid_argument(f"Seeking to a negative position: {target}")
        with os_errors(self._resolved()):
            end = reader.seek(0, 2)
            reader.seek(min(target, end))
        if target > end:
            raise errors.out_of_range("reached end of file")

    def readline(self) -> bytes | str:
        """Return the next line with its newline, without carriage returns; empty at the end."""
        reader = self._open_reader()
        with os_errors(self._resolved()):
            line = reader.readline()
        return self._value(line.replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """Return all remaining lines."""
        return list(self)

    def tell(self) -> int:
        """Return the position of reading, or else of writing."""
        file = self._open_reader() if self._readable else self._open_writer()
        return int(file.tell())

    def __enter__(self) -> FileIO:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> FileIO:
        return self

    def __next__(self) -> bytes | str:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def flush(self) -> None:
        """Flush the written data to the operating system."""
        if self._writer is not None:
            with os_errors(self._resolved()):
                self._writer.flush()

    def close(self) -> None:
        """Flush and close; reading or writing again reopens the file."""
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        if reader is not None:
            reader.close()
        if writer is not None:
            with os_errors(self._resolved()):
                writer.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # never opened, or the interpreter is ending

    def seekable(self) -> bool:
        """Return True."""
        return True


@export("gfile.GFile", "gfile.Open", "io.gfile.GFile")
class GFile(FileIO):
    """A file to read or write, anywhere; see `FileIO`.

    Args:
      name: its path, with a scheme (gs://, s3://, hdfs://, memory://) if it is not on the disk.
      mode: "r", "w", "a", "r+", "w+" or "a+", with a "b" for bytes.

    Example:
      >>> with tf.gfile.GFile("labels.txt", "w") as file: file.write("cat")
      >>> with tf.gfile.GFile("labels.txt") as file: print(file.read(), file.size())
      cat 3
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        super().__init__(name=name, mode=mode)


@export("gfile.FastGFile")
class FastGFile(FileIO):
    """An old name of `GFile`.

    Args:
      name: its path.
      mode: "r", "w", "a", "r+", "w+" or "a+", with a "b" for bytes.

    Example:
      >>> with tf.gfile.FastGFile("labels.txt", "w") as file: file.write("cat")
      >>> tf.gfile.FastGFile("labels.txt", "rb").read()
      b'cat'
    """

    @noticed("gfile.FastGFile")
    def __init__(self, name: Any, mode: str = "r") -> None:
        super().__init__(name=name, mode=mode)
