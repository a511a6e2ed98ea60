"""Files that appear at once or not at all, and stay when the power fails."""

from __future__ import annotations

import os
import uuid

from stillflow.files.failures import os_errors


def temporary_name(path: str) -> str:
    """Return an unused name in the directory of `path`."""
    return f"{path}.tempstate{uuid.uuid4().int & (1 << 64) - 1}"


def sync_file(descriptor: int) -> None:
    """Wait until the file's bytes are on the disk."""
    # Data and size are all that counts: the times may come later.
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_directory(path: str) -> None:
    """Wait until renames and deletions in the directory are on the disk, where that exists."""
    try:
        descriptor = os.open(path or ".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:  # Windows has no such thing
        return
    try:
        os.fsync(descriptor)
    except OSError:  # nor do some file systems
        pass
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Delete a file; ignore a missing file and errors."""
    try:
        os.remove(path)
    except OSError:
        pass


def write_file(path: str, content: bytes, sync: bool = True) -> None:
    """Write a file atomically: readers see the old content, also after an OpError, or the new."""
    temporary = temporary_name(path)
    try:
        with os_errors(path):
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                if sync:
                    sync_file(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    if sync:
        sync_directory(os.path.dirname(path))
