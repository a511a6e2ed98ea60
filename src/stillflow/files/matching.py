"""Names that match patterns such as ``data/train-*.tfrecord``."""

from __future__ import annotations

import functools
import os
import re

from stillflow import errors
from stillflow.files.filesystem import FileSystem, LocalFileSystem, file_system

_SPECIAL = re.compile(r"[*?\[\\]")


def matching(pattern: str) -> list[str]:
    """Return the names of the files and directories that match a pattern.

    They come in the order in which their directories list them: shuffled or split names are then
    equal to TensorFlow's.

    Args:
      pattern: a path in which `*`, `?`, `[abc]`, `[a-z]` and `[!a]` stand for characters of one
        part of a path, hidden files included, and a backslash takes their meaning from them.

    A pattern without a directory gives names that begin with "./". Directories are listed, never
    guessed: "..", "." and empty parts after the first wildcard, or just before it, match nothing.

    Raises:
      NotFoundError, FailedPreconditionError: If the directory that it begins with is not there, or
        is none; in stores of objects, which have no directories, nothing matches then.
    """
    system = file_system(pattern)
    fixed = fixed_part(pattern)
    start, slash, rest = fixed.rpartition("/")
    if isinstance(system, LocalFileSystem):
        if not slash:
            start, slash = ".", "/"
        _check_directory(system, start or "/")
        if start.endswith("/"):
            return []
    *folders, last = (rest + pattern[len(fixed) :]).split("/")
    found = [start + slash]
    for part in folders:
        found = [name + "/" for folder in found for name in _inside(system, folder, part)]
    return [name for folder in found for name in _inside(system, folder, last)]


def fixed_part(pattern: str) -> str:
    """Return the part of a pattern before the first wildcard."""
    special = _SPECIAL.search(pattern)
    return pattern if special is None else pattern[: special.start()]


def full_match(pattern: str, path: str) -> bool:
    """Return True if a whole path matches a pattern, part by part."""
    parts, names = pattern.split("/"), path.split("/")
    return len(parts) == len(names) and all(
        _expression(part).fullmatch(name) is not None
        for part, name in zip(parts, names, strict=True)
    )


def _check_directory(system: LocalFileSystem, name: str) -> None:
    if not os.path.isdir(system.path(name)):
        if os.path.exists(system.path(name)):
            raise errors.failed_precondition(f"{name}; Not a directory")
        raise errors.not_found(f"{name}; No such file or directory")


def _inside(system: FileSystem, folder: str, part: str) -> list[str]:
    """Return the names in a folder that match one part of a pattern."""
    if _SPECIAL.search(part) is None:
        name = folder + part
        return [name] if part not in ("", ".", "..") and _is_listed(system, name) else []
    expression = _expression(part)
    try:
        children = system.children(folder)
    except errors.OpError:  # a file, or a directory that may not be read
        return []
    return [folder + child for child in children if expression.fullmatch(child)]


def _is_listed(system: FileSystem, name: str) -> bool:
    """Return True if a directory lists a name, also one of a link to nothing."""
    if isinstance(system, LocalFileSystem):
        return os.path.lexists(system.path(name))
    return system.exists(name)


@functools.lru_cache(256)
def _expression(part: str) -> re.Pattern[str]:
    result, position = [], 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            result.append(".*")
        elif character == "?":
            result.append(".")
        elif character == "\\" and position < len(part):
            result.append(re.escape(part[position]))
            position += 1
        elif character == "[":
            end = part.find("]", position + 1 + (part[position : position + 1] in ("!", "^")))
            if end < 0:
                return re.compile("(?!)")  # a bracket that nothing closes matches nothing
            result.append(_set(part[position:end]))
            position = end + 1
        else:
            result.append(re.escape(character))
    try:
        return re.compile("".join(result), re.DOTALL)
    except re.error:  # [z-a]
        return re.compile("(?!)")


def _set(characters: str) -> str:
    negated = characters[:1] in ("!", "^")
    body = characters[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    body = re.sub(r"([&~|])", r"\\\1", body)
    body = "\\]" + body[1:] if body.startswith("]") else body
    return f"[{'^' if negated else ''}{body}]"
