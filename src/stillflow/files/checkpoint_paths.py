"""Paths that users give for a checkpoint: one of its files, its folder, the state file."""

from __future__ import annotations

import os
import re

from stillflow import errors
from stillflow.files import checkpoint_state, kinds
from stillflow.files.bundle_format import index_path
from stillflow.files.filesystem import file_system

_PART = re.compile(r"(.+)\.(?:index|meta|data-\d{5}-of-\d{5})", re.DOTALL)


def prefix_of(path: str) -> str:
    """Return the prefix of a checkpoint's files; `path` as it is where it leads to none.

    `path` is the prefix, one of these files, a directory whose last checkpoint is meant, or the
    file `checkpoint` in it.
    """
    try:
        kind = kinds.identify(path)
    except errors.OpError:
        return path
    if kind.name == kinds.CHECKPOINT:
        return kind.path
    if kind.name == kinds.CHECKPOINT_STATE:
        return _last(kind.path) or path
    if kind.name == kinds.DIRECTORY:
        there = in_directory(path)
        return there[0] if len(there) == 1 else path
    part = _PART.fullmatch(path)
    return part[1] if part and os.path.exists(index_path(part[1])) else path


def in_directory(path: str) -> list[str]:
    """Return the V2 checkpoints in a directory, also those missing in its state file."""
    indices = [name for name in file_system(path).children(path) if name.endswith(".index")]
    return sorted(os.path.join(path, name.removesuffix(".index")) for name in indices)


def advice(path: str) -> str:
    """Return advice for a path that is no checkpoint: the path to give, or the missing files.

    It is a line, with what divides it from the message above it; "" if there is none.
    """
    line = _advice(path)
    return f"\n{line}" if line else ""


def _advice(path: str) -> str | None:
    part = _PART.fullmatch(path)
    if part and os.path.exists(index_path(part[1])):
        return f"{path} is one file of a checkpoint: name the checkpoint, {part[1]}"
    if os.path.isdir(path):
        last = _last(os.path.join(path, checkpoint_state.DEFAULT_NAME))
        if last:
            return f"{path} is a directory; its last checkpoint is {last}"
        return f"{path} is a directory; in it: {', '.join(in_directory(path)) or 'no checkpoint'}"
    folder, name = os.path.split(part[1] if part else path)
    try:
        there = sorted(each for each in os.listdir(folder or ".") if _belongs(each, name))
    except OSError:
        return None
    if not there or f"{name}.index" in there:
        return None
    return (
        f"of {os.path.join(folder, name)} there is only {', '.join(there)}: weights are in an "
        ".index file together with .data files"
    )


def _belongs(file: str, prefix: str) -> bool:
    part = _PART.fullmatch(file)
    return part is not None and part[1] == prefix


def _last(state_path: str) -> str | None:
    """Return the last checkpoint of a state file; next to it, if the folder was moved since."""
    from google.protobuf.text_format import ParseError

    try:
        state = checkpoint_state.read(state_path)
    except (errors.OpError, ParseError, UnicodeDecodeError):
        return None
    if state is None or not state.model_checkpoint_path:
        return None
    folder, named = os.path.dirname(state_path), state.model_checkpoint_path
    for prefix in (os.path.join(folder, named), os.path.join(folder, os.path.basename(named))):
        if os.path.exists(index_path(prefix)) or os.path.isfile(prefix):
            return prefix
    return None
