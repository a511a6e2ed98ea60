"""The file `checkpoint`: which checkpoints a directory holds, as a text message."""

from __future__ import annotations

import os
from typing import Any

from stillflow.files import durability, whole_file
from stillflow.files.local_path import is_remote, plain_path

DEFAULT_NAME = "checkpoint"


def state_path(directory: str, name: str | None = None) -> str:
    """Return the path of a directory's state file."""
    return os.path.join(plain_path(directory), DEFAULT_NAME if name is None else name)


def write(path: str, state: Any) -> None:
    """Write a `CheckpointState` atomically."""
    from google.protobuf import text_format

    content = text_format.MessageToString(state, as_utf8=False).encode()
    whole_file.write(path, content, sync=durability.waits())
    if not is_remote(path):
        durability.write_back.add(path, [path])


def read(path: str) -> Any:
    """Return the `CheckpointState` in a file; None if there is no such file.

    OpError if it cannot be read, UnicodeDecodeError if it is no text, protobuf's ParseError if it
    is no such message.
    """
    from google.protobuf import text_format

    from stillflow.protos import CheckpointState

    if not whole_file.exists(path):
        return None
    content = whole_file.read(path)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        error.reason += f"\n{path} is no text"
        raise
    state = CheckpointState()
    text_format.Merge(text, state)
    return state
