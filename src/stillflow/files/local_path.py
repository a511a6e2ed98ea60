"""Names of files as paths of the operating system: URIs, and the cleaning that TensorFlow does."""

from __future__ import annotations

import posixpath
import re

_SCHEME = re.compile(r"([a-zA-Z][0-9a-zA-Z.+]*)://")
_FILE = "file://"


def is_remote(name: str) -> bool:
    """Return True if a path is on no disk: gs://, s3://, hdfs://, memory://."""
    scheme = _SCHEME.match(name)
    return bool(scheme) and scheme[1] != "file"  # type: ignore[index]


def plain_path(name: str) -> str:
    """Return the path of the operating system that a name stands for.

    TensorFlow cleans names by their text: "gone/../data//t.txt/" is "data/t.txt", also where
    `gone` does not exist or is a symbolic link. A URI "file://host/path" is "/path", as written.
    """
    if name.startswith(_FILE):
        slash = name.find("/", len(_FILE))
        return name[slash:] if slash >= 0 else ""
    if not name or is_remote(name):
        return name
    path = posixpath.normpath(name)
    return path[1:] if path.startswith("//") else path


def plain_prefix(prefix: str) -> str:
    """Return the path of a checkpoint, where "folder/" stands for "folder/.index" and its like."""
    return prefix if is_remote(prefix) else plain_path(prefix + "x")[:-1]
