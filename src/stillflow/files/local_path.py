"""Where on the disk a path leads that may be written as a URI."""

from __future__ import annotations

import re

from stillflow import errors

_SCHEME = re.compile(r"([a-zA-Z][0-9a-zA-Z.+]*)://")


def is_remote(name: str) -> bool:
    """Whether a path leads to a file system that is no disk: gs://, s3://, hdfs://, memory://."""
    scheme = _SCHEME.match(name)
    return bool(scheme) and scheme[1] != "file"  # type: ignore[index]


def plain_path(name: str) -> str:
    """The path; `file://` is taken off, other schemes stay."""
    return name.removeprefix("file://")


def local_path(name: str) -> str:
    """The path on the disk; `file://` is taken off.

    Raises:
      UnimplementedError: If it leads elsewhere.
    """
    if is_remote(name):
        raise errors.unimplemented(
            f"This takes local files only, not {name}: copy it with tf.gfile.Copy"
        )
    return plain_path(name)
