"""Files that are read and written as a whole, on the disk or anywhere."""

from __future__ import annotations

from stillflow.files import atomic
from stillflow.files.filesystem import file_system, open_file
from stillflow.files.local_path import is_remote, plain_path


def exists(path: str) -> bool:
    """Return True if the path exists; UnimplementedError if its scheme is unknown here."""
    return file_system(path).exists(path)


def is_directory(path: str) -> bool:
    """Return True if there is a directory of that name."""
    return exists(path) and file_system(path).entry(path).is_directory


def read(path: str) -> bytes:
    """Return the bytes of a file; OpError if it cannot be read."""
    with open_file(path) as file:
        return file.read()


def write(path: str, content: bytes, sync: bool = True) -> None:
    """Write a file atomically, if `sync` to the disk, or raise OpError.

    Object stores show complete objects only.
    """
    if not is_remote(path):
        atomic.write_file(plain_path(path), content, sync)
        return
    with open_file(path, "wb") as file:
        file.write(content)
