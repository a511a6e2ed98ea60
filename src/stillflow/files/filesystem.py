"""File systems by path: the disk, or fsspec's for gs://, s3://, hdfs://, memory://."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import IO, Any, NamedTuple, TypeAlias

from stillflow import errors
from stillflow.files.failures import from_os, os_errors
from stillflow.files.local_path import plain_path

_SCHEME = re.compile(r"([a-zA-Z][0-9a-zA-Z.+]*)://")
_COPIED_AT_ONCE = 1 << 20


class Entry(NamedTuple):
    """Facts about a path: its kind, size and time.

    Attributes:
      length: its size in bytes.
      mtime_nsec: when it was last changed, in nanoseconds; 0 where nobody knows.
      is_directory: whether it is a directory.
      mode: its permission bits, None where there are none.
    """

    length: int
    mtime_nsec: int
    is_directory: bool
    mode: int | None = None


class LocalFileSystem:
    """The disk. Paths are given and named in errors as the caller wrote them."""

    def path(self, name: str) -> str:
        """Return the operating system's path of a name."""
        return plain_path(name)

    def open(self, name: str, mode: str) -> IO[bytes]:
        """Open a file; `mode` is "rb", "wb" or "ab"."""
        path = self.path(name)
        with os_errors(name):
            try:
                return open(path, mode)
            except IsADirectoryError as error:
                if mode != "rb":
                    raise
                raise from_os(error, path) from None  # TensorFlow notices when it reads

    def entry(self, name: str) -> Entry:
        """Return the facts about a file or directory."""
        with os_errors(name):
            status = os.stat(self.path(name))
        whole_seconds = int(status.st_mtime) * 1_000_000_000
        return Entry(status.st_size, whole_seconds, stat.S_ISDIR(status.st_mode), status.st_mode)

    def exists(self, name: str) -> bool:
        """Return True if the path exists and is accessible."""
        with os_errors(name):
            return os.access(self.path(name), os.F_OK)

    def children(self, name: str) -> list[str]:
        """Return the names in a directory, in the operating system's order."""
        with os_errors(name):
            return os.listdir(self.path(name))

    def make_directory(self, name: str) -> None:
        """Make one directory; its parent must exist."""
        with os_errors(name):
            os.mkdir(self.path(name))

    def remove_file(self, name: str) -> None:
        """Delete a file."""
        if os.path.isdir(self.path(name)):
            raise errors.failed_precondition(f"{name}; Is a directory")
        with os_errors(name):
            os.remove(self.path(name))

    def remove_directory(self, name: str) -> None:
        """Delete a directory that is empty."""
        with os_errors(name):
            os.rmdir(self.path(name))

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory; an existing file is replaced."""
        with os_errors(source):
            os.replace(self.path(source), self.path(target))


class RemoteFileSystem:
    """A file system of fsspec's, with the operations and errors of the local one."""

    def __init__(self, scheme: str, implementation: Any) -> None:
        self.scheme = scheme
        self.implementation = implementation

    def path(self, name: str) -> str:
        """Return the path as fsspec's file system knows it."""
        return str(self.implementation._strip_protocol(name))

    def open(self, name: str, mode: str) -> Any:
        """Open a file; `mode` is "rb", "wb" or "ab"."""
        with remote_errors(name):
            if mode == "rb" and self.implementation.isdir(self.path(name)):
                raise errors.failed_precondition(f"{name}; Is a directory")
            return self.implementation.open(self.path(name), mode)

    def entry(self, name: str) -> Entry:
        """Return the facts about a file or directory."""
        with remote_errors(name):
            path = self.path(name)
            info = self.implementation.info(path)
            return Entry(
                int(info.get("size") or 0), _changed(info), info.get("type") == "directory"
            )

    def exists(self, name: str) -> bool:
        """Return True if the path exists."""
        with remote_errors(name):
            return bool(self.implementation.exists(self.path(name)))

    def children(self, name: str) -> list[str]:
        """Return the names in a directory, sorted."""
        with remote_errors(name):
            path = self.path(name).rstrip("/")
            listed = self.implementation.ls(path, detail=False)
        bases = {
            str(each).rstrip("/").rpartition("/")[2]
            for each in listed
            if str(each).rstrip("/") != path
        }
        return sorted(bases - {""})

    def make_directory(self, name: str) -> None:
        """Make one directory."""
        with remote_errors(name):
            self.implementation.mkdir(self.path(name), create_parents=False)

    def remove_file(self, name: str) -> None:
        """Delete a file."""
        if self.entry(name).is_directory:
            raise errors.failed_precondition(f"{name}; Is a directory")
        with remote_errors(name):
            self.implementation.rm_file(self.path(name))

    def remove_directory(self, name: str) -> None:
        """Delete a directory that is empty."""
        with remote_errors(name):
            self.implementation.rmdir(self.path(name))

    def rename(self, source: str, target: str) -> None:
        """Move a file or directory."""
        self.entry(source)
        with remote_errors(source):
            self.implementation.mv(self.path(source), self.path(target), recursive=True)


def _changed(info: dict[str, Any]) -> int:
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        value = info.get(key)
        if isinstance(value, (int, float)):
            return int(value) * 1_000_000_000
        if value is not None and hasattr(value, "timestamp"):
            return int(value.timestamp()) * 1_000_000_000
    return 0


# fsspec raises Python's own subclasses of OSError, most of them without a number.
_NUMBERS: tuple[tuple[type[OSError], int], ...] = (
    (FileNotFoundError, errno.ENOENT),
    (FileExistsError, errno.EEXIST),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (PermissionError, errno.EACCES),
    (TimeoutError, errno.ETIMEDOUT),
    (ConnectionError, errno.ECONNREFUSED),
)


class remote_errors(os_errors):
    """Inside it, errors that fsspec's file systems raise become those of `tf.errors`."""

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError) and error.errno is None:
            number = next((number for kind, number in _NUMBERS if isinstance(error, kind)), None)
            if number is not None:
                error = OSError(number, os.strerror(number))
        super().__exit__(kind, error, traceback)


FileSystem: TypeAlias = LocalFileSystem | RemoteFileSystem
_LOCAL = LocalFileSystem()


def file_system(name: str) -> FileSystem:
    """Return the file system of a path; UnimplementedError if its scheme is unknown here."""
    match = _SCHEME.match(name)
    if match is None or match[1] == "file":
        return _LOCAL
    return _remote(match[1], name)


def _remote(scheme: str, name: str) -> RemoteFileSystem:
    text = f"File system scheme '{scheme}' not implemented (file: '{name}')"
    try:
        import fsspec
    except ImportError:
        raise errors.unimplemented(f"{text}\nPaths with a scheme need the package fsspec") from None
    if scheme not in fsspec.available_protocols():
        raise errors.unimplemented(text)
    try:
        implementation, _ = fsspec.core.url_to_fs(name)
    except ImportError as error:
        raise errors.unimplemented(f"{text}\n{error}") from None
    except (OSError, ValueError, TypeError) as error:
        raise errors.unavailable(f"{name}; {error}") from error
    return RemoteFileSystem(scheme, implementation)


def configure(protocol: str, **options: Any) -> None:
    """Have fsspec make the file systems of a protocol with more arguments, in this process.

    `protocol` is one of the file system's names, such as "gcs"; earlier options stay if not named.
    """
    try:
        from fsspec.config import conf
    except ImportError:
        raise errors.unimplemented(f"{protocol}: needs the package fsspec") from None
    conf[protocol] = {**conf.get(protocol, {}), **options}


def name_of(path: Any) -> str:
    """Return a path as text."""
    if hasattr(path, "__fspath__"):
        path = path.__fspath__()
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if isinstance(path, str):
        return path
    raise TypeError(f"Expected binary or unicode string, got {path!r}")


def open_file(path: Any, mode: str = "rb") -> IO[bytes]:
    """Open a file anywhere, as "rb", "wb" or "ab"; OpError if it cannot be opened."""
    name = name_of(path)
    return file_system(name).open(name, mode)


def copy_bytes(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy the rest of one open file to another."""
    while chunk := source.read(_COPIED_AT_ONCE):
        target.write(chunk)
