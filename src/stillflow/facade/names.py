"""Internal modules of TensorFlow 1.15, and their public names.

Old programs import ``tensorflow.python.ops.array_ops`` and the like.  ``internal_names.txt`` lists
these modules as a tree, one per line, indented below the package each is in, followed by::

    @SPACE              the module as a whole is this public namespace
    ~SPACE              its names are looked for in this namespace, then the next
    SPACE:NAME,NAME=X   NAME is the public SPACE.NAME, or SPACE.X

where the top namespace is written ``tf``.
"""

from __future__ import annotations

import functools
import pkgutil

_TOP = "tf"


class InternalModule:
    """Facts about one internal module.

    Attributes:
      alias: the public namespace that it is as a whole, if any.
      spaces: the public namespaces to look for its names in.
      names: {name: public name} of others.
    """

    def __init__(self) -> None:
        self.alias: str | None = None
        self.spaces: list[str] = []
        self.names: dict[str, str] = {}


def join(space: str, name: str) -> str:
    """Join a public namespace, "" at the top, and a name."""
    return f"{space}.{name}" if space else name


@functools.cache
def _lines() -> dict[str, str]:
    """Return {module: the rest of its line}, parents before children."""
    found: dict[str, str] = {}
    path = ["tensorflow"]
    for line in _text("facade/internal_names.txt").splitlines():
        if line.startswith("#"):
            continue
        name, _, rest = line.lstrip().partition(" ")
        depth = len(line) - len(line.lstrip())
        path[depth + 1 :] = [name]
        found[".".join(path)] = rest
    return found


@functools.cache
def internal_module(module: str) -> InternalModule | None:
    """Return the facts about an internal module, None if TensorFlow 1.15 had no such module."""
    line = _lines().get(module)
    if line is None:
        return None
    entry = InternalModule()
    for word in line.split():
        if word.startswith("@"):
            entry.alias = word[1:]
        elif word.startswith("~"):
            entry.spaces.append(_space(word[1:]))
        else:
            space, _, items = word.partition(":")
            for item in items.split(","):
                name, _, public = item.partition("=")
                entry.names[name] = join(_space(space), public or name)
    return entry


def internal_modules() -> list[str]:
    """Return the names of all internal modules."""
    return list(_lines())


@functools.cache
def known_public() -> frozenset[str]:
    """Return every public name TensorFlow 1.15 had and every one that Stillflow has."""
    from stillflow._namespace import public_names

    found = set(public_names())
    for line in _text("known_names.txt").splitlines():
        spaces, _, members = line.partition(":")
        for space in spaces.split() or [""]:
            found.update(join(space, name) for name in members.split())
    return frozenset(found)


@functools.cache
def known_spaces() -> frozenset[str]:
    """Return every public namespace, "nn" or "contrib.layers"."""
    found = {"compat.v2"}
    for name in known_public():
        space = name.rpartition(".")[0]
        while space and space not in found:
            found.add(space)
            space = space.rpartition(".")[0]
    return frozenset(found)


def _space(text: str) -> str:
    return "" if text == _TOP else text


def _text(path: str) -> str:
    return (pkgutil.get_data("stillflow", path) or b"").decode("ascii")
