"""Where on the disk a path leads that may be written as a URI."""

from __future__ import annotations

import re

from stillflow import errors

_SCHEME = re.compile(r"([a-zA-Z][0-9a-zA-Z.+]*)://")


def local_path(name: str) -> str:
    """The path on the disk; `file://` is taken off.

    Raises:
      UnimplementedError: If it leads elsewhere: checkpoints are mapped into memory, and appear by
        renaming, which only disks can.
    """
    if name.startswith("file://"):
        return name[len("file://") :]
    scheme = _SCHEME.match(name)
    if scheme and scheme[1] != "file":
        raise errors.UnimplementedError(
            None,
            None,
            f"Checkpoints are read from and written to local disks only, not {name}: copy them "
            "with tf.gfile.Copy.",
        )
    return name
