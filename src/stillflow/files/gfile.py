"""tf.gfile and tf.io.gfile: files and directories anywhere."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stillflow import errors
from stillflow._export import export
from stillflow.files.failures import os_errors
from stillflow.files.file_io import FileIO
from stillflow.files.filesystem import (
    Entry,
    LocalFileSystem,
    copy_bytes,
    file_system,
    name_of,
)
from stillflow.files.matching import matching

_BLOCK = 16 * 1024 * 1024

Walked = tuple[str, list[str], list[str]]


class FileStatistics:
    """Result of `tf.io.gfile.stat`.

    Attributes:
      length: the size in bytes.
      mtime_nsec: when it was last changed, in nanoseconds since 1970.
      is_directory: whether it is a directory.
    """

    def __init__(self, length: int = -1, mtime_nsec: int = 0, is_directory: bool = False) -> None:
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory

    def __repr__(self) -> str:
        return (
            f"FileStatistics(length={self.length}, mtime_nsec={self.mtime_nsec}, "
            f"is_directory={self.is_directory})"
        )


def _entry(name: str) -> Entry | None:
    """Return the facts about a path, None if it does not exist or is not accessible."""
    try:
        return file_system(name).entry(name)
    except errors.OpError:
        return None


@export("io.gfile.exists")
def file_exists_v2(path: Any) -> bool:
    """Return whether there is a file or directory at `path`."""
    name = name_of(path)
    return file_system(name).exists(name)


@export("gfile.Exists")
def file_exists(filename: Any) -> bool:
    """Return whether there is a file or directory called `filename`.

    Args:
      filename: a path, str or bytes.

    Returns:
      A bool.

    Example:
      >>> tf.gfile.MakeDirs("logs")
      >>> tf.gfile.Exists("logs"), tf.gfile.Exists("model")
      (True, False)
    """
    return file_exists_v2(filename)


@export("io.gfile.remove")
def delete_file_v2(path: Any) -> None:
    """Delete a file.

    Raises:
      NotFoundError: If there is none.
      FailedPreconditionError: If it is a directory.
    """
    name = name_of(path)
    file_system(name).remove_file(name)


@export("gfile.Remove")
def delete_file(filename: Any) -> None:
    """Delete a file; see `tf.io.gfile.remove`."""
    delete_file_v2(filename)


@export("io.gfile.glob")
def get_matching_files_v2(pattern: Any) -> list[str]:
    """Return the names of files and directories that match, sorted for each pattern.

    Args:
      pattern: a pattern, or several; `*`, `?` and `[abc]` stand for what they do in a shell,
        within one part of a path.
    """
    patterns: Iterable[Any] = [pattern] if isinstance(pattern, (str, os.PathLike)) else pattern
    return [name for each in patterns for name in matching(name_of(each))]


@export("gfile.Glob")
def get_matching_files(filename: Any) -> list[str]:
    """Return the names of files and directories that match; see `tf.io.gfile.glob`.

    Args:
      filename: a pattern such as "data/*.txt", or a list of patterns.

    Returns:
      A list of paths.

    Example:
      >>> tf.gfile.MakeDirs("data")
      >>> for name in ("a.txt", "b.txt", "c.csv"): open("data/" + name, "w").close()
      >>> sorted(tf.gfile.Glob("data/*.txt"))
      ['data/a.txt', 'data/b.txt']
    """
    return get_matching_files_v2(filename)


@export("io.gfile.mkdir")
def create_dir_v2(path: Any) -> None:
    """Make a directory; do nothing if the path exists.

    Raises:
      NotFoundError: If its parent is not there.
    """
    name = name_of(path)
    if not name:
        return
    try:
        file_system(name).make_directory(name)
    except errors.AlreadyExistsError:
        pass


@export("gfile.MkDir")
def create_dir(dirname: Any) -> None:
    """Make a directory; see `tf.io.gfile.mkdir`."""
    create_dir_v2(dirname)


@export("io.gfile.makedirs")
def recursive_create_dir_v2(path: Any) -> None:
    """Make a directory and its missing parents."""
    name = name_of(path)
    scheme, separator, rest = name.rpartition("://")
    missing = []
    while rest and not file_exists_v2(scheme + separator + rest):
        rest, slash, last = rest.rpartition("/")
        rest = rest or slash
        missing.append(last)
    for part in reversed(missing):
        if part:
            rest = f"{rest.rstrip('/')}/{part}" if rest else part
            create_dir_v2(scheme + separator + rest)


@export("gfile.MakeDirs")
def recursive_create_dir(dirname: Any) -> None:
    """Make a directory and those above it that are not there.

    Args:
      dirname: a path; it may exist.

    Example:
      >>> tf.gfile.MakeDirs("runs/first/logs")
      >>> tf.gfile.IsDirectory("runs/first/logs")
      True
    """
    recursive_create_dir_v2(dirname)


def _check_new(name: str, overwrite: bool) -> None:
    if not overwrite and file_exists_v2(name):
        raise errors.already_exists("file already exists")


@export("io.gfile.copy")
def copy_v2(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file, also from one file system to another.

    Args:
      src: the file.
      dst: the name of the copy.
      overwrite: whether to write over a file of that name.

    Raises:
      AlreadyExistsError: If there is one and `overwrite` is false.
    """
    source, target = name_of(src), name_of(dst)
    _check_new(target, overwrite)
    origin, destination = file_system(source), file_system(target)
    entry = origin.entry(source)
    if entry.is_directory:
        raise errors.invalid_argument(f"{target}; Invalid argument")
    with origin.open(source, "rb") as read, destination.open(target, "wb") as written:
        with os_errors(target):
            copy_bytes(read, written)
            written.flush()
    if entry.mode is not None and isinstance(destination, LocalFileSystem):
        with os_errors(target):
            os.chmod(destination.path(target), entry.mode & 0o777)


@export("gfile.Copy")
def copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file; see `tf.io.gfile.copy`."""
    copy_v2(oldpath, newpath, overwrite)


@export("io.gfile.rename")
def rename_v2(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or directory.

    Args:
      src: its name.
      dst: its new name, on the same file system.
      overwrite: whether a file of the new name gives way.

    Raises:
      AlreadyExistsError: If there is one and `overwrite` is false.
      UnimplementedError: If the names lead to different file systems.
    """
    source, target = name_of(src), name_of(dst)
    _check_new(target, overwrite)
    system, other = file_system(source), file_system(target)
    if getattr(system, "scheme", "") != getattr(other, "scheme", ""):
        raise errors.unimplemented(f"Renaming {source} to {target} not implemented")
    system.rename(source, target)


@export("gfile.Rename")
def rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or directory; see `tf.io.gfile.rename`."""
    rename_v2(oldname, newname, overwrite)


@export("io.gfile.rmtree")
def delete_recursively_v2(path: Any) -> None:
    """Delete a directory and all that is in it.

    Raises:
      NotFoundError: If it is not there.
      FailedPreconditionError: If it is a file.
    """
    name = name_of(path)
    if not file_exists_v2(name):
        raise errors.not_found(f"{name} not found")
    _delete(name, file_system(name).children(name))


def _delete(folder: str, children: list[str]) -> None:
    system = file_system(folder)
    for child in children:
        name = os.path.join(folder, child)
        if _is_real_directory(name):
            _delete(name, system.children(name))
        else:
            _remove(name)
    system.remove_directory(folder)


def _is_real_directory(name: str) -> bool:
    """Return True for a directory, False for a link to one, whose target must not be deleted."""
    system = file_system(name)
    if isinstance(system, LocalFileSystem) and os.path.islink(system.path(name)):
        return False
    return is_directory_v2(name)


def _remove(name: str) -> None:
    system = file_system(name)
    if isinstance(system, LocalFileSystem):
        with os_errors(name):
            os.remove(system.path(name))
    else:
        system.remove_file(name)


@export("gfile.DeleteRecursively")
def delete_recursively(dirname: Any) -> None:
    """Delete a directory and all that is in it; see `tf.io.gfile.rmtree`."""
    delete_recursively_v2(dirname)


@export("io.gfile.isdir")
def is_directory_v2(path: Any) -> bool:
    """Return whether there is a directory at `path`."""
    entry = _entry(name_of(path))
    return entry is not None and entry.is_directory


@export("gfile.IsDirectory")
def is_directory(dirname: Any) -> bool:
    """Return whether there is a directory called `dirname`."""
    return is_directory_v2(dirname)


@export("io.gfile.listdir")
def list_directory_v2(path: Any) -> list[str]:
    """Return the names in a directory, in its own order, without the directory's name.

    Raises:
      NotFoundError: If there is no such directory.
    """
    name = name_of(path)
    if not is_directory_v2(name):
        raise errors.NotFoundError(
            node_def=None, op=None, message=f"Could not find directory {name}"
        )
    return file_system(name).children(name)


@export("gfile.ListDirectory")
def list_directory(dirname: Any) -> list[str]:
    """Return the names in a directory; see `tf.io.gfile.listdir`."""
    return list_directory_v2(dirname)


@export("io.gfile.walk")
def walk_v2(
    top: Any, topdown: bool = True, onerror: Callable[[Exception], Any] | None = None
) -> Iterator[Walked]:
    """Goes through a directory and all that are below it.

    Args:
      top: the directory.
      topdown: whether a directory comes before those in it.
      onerror: a function to call with the error if one cannot be listed; by default it is left
        out.

    Yields:
      (directory, [names of the directories in it], [names of the files in it]).
    """
    name = name_of(top)
    try:
        listing = list_directory_v2(name)
    except errors.NotFoundError as error:
        if onerror is None:
            return
        onerror(error)
        listing = []
    folders: list[str] = []
    files: list[str] = []
    for item in listing:
        (folders if is_directory_v2(os.path.join(name, item)) else files).append(item)
    if topdown:
        yield name, folders, files
    for folder in folders:
        yield from walk_v2(os.path.join(name, folder), topdown, onerror)
    if not topdown:
        yield name, folders, files


@export("gfile.Walk")
def walk(top: Any, in_order: bool = True) -> Iterator[Walked]:
    """Goes through a directory and all that are below it; see `tf.io.gfile.walk`."""
    return walk_v2(top, in_order)


@export("io.gfile.stat")
def stat_v2(path: Any) -> FileStatistics:
    """Return the `FileStatistics` of a file or directory.

    Raises:
      NotFoundError: If there is none.
    """
    name = name_of(path)
    entry = file_system(name).entry(name)
    return FileStatistics(entry.length, entry.mtime_nsec, entry.is_directory)


@export("gfile.Stat")
def stat(filename: Any) -> FileStatistics:
    """Return the `FileStatistics` of a file or directory."""
    return stat_v2(filename)


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """Return a file's contents, as text or as bytes."""
    with FileIO(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Write a file that contains `file_content`."""
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """Write a file so that it is never seen in part; AlreadyExistsError if not to overwrite."""
    name = name_of(filename)
    temporary = f"{name}.tmp{uuid.uuid4().hex}"
    write_string_to_file(temporary, contents)
    try:
        rename_v2(temporary, name, overwrite)
    except errors.OpError:
        delete_file_v2(temporary)
        raise


def filecmp(filename_a: Any, filename_b: Any) -> bool:
    """Return whether two files have the same contents."""
    if FileIO(filename_a, "rb").size() != FileIO(filename_b, "rb").size():
        return False
    with FileIO(filename_a, "rb") as a, FileIO(filename_b, "rb") as b:
        while chunk := a.read(_BLOCK):
            if chunk != b.read(_BLOCK):
                return False
    return True


def file_crc32(filename: Any, block_size: int = _BLOCK) -> str:
    """Return a file's CRC-32 in hexadecimal digits ("0x..."); a block size of -1 is all of it."""
    import zlib

    crc = 0
    with FileIO(filename, "rb") as file:
        while chunk := file.read(block_size):
            crc = zlib.crc32(chunk, crc)
    return hex(crc)
