"""Cache of repaired modules' code, next to Python's own compiled files.

Repairing a source takes many times as long as compiling it, and every process that a program spawns
loads its modules again.  An entry is valid for one source (path, time, size), one Python, one
version of the rules by which sources are repaired, one NumPy, and one state of the program.
"""

from __future__ import annotations

import functools
import marshal
import os
import sys
import zlib
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType
from typing import Any, NamedTuple

_SUFFIX = ".stillflow.pyc"
# The modules that decide about repairs of a source.
_RULES = (
    "code_cache", "indexing", "number_sources", "py2builtins", "python2", "python2_habits",
    "rewrite", "runtime", "scalar_sources", "sources",
)  # fmt: skip


class Repaired(NamedTuple):
    """Repaired code, and the actions at its load.

    Attributes:
      code: the code of the module.
      notes: what is said on stderr.
      python2: whether the program is known to be one of Python 2's from here on.
      offer: advice that is given once in a process; empty for none.
      has_tree: whether AutoGraph has to read the repaired tree instead of the source.
    """

    code: CodeType
    notes: tuple[str, ...] = ()
    python2: bool = False
    offer: str = ""
    has_tree: bool = False


def read(loader: SourceFileLoader, state: tuple[Any, ...]) -> Repaired | None:
    """Return the cached code of a module; None if there is none, or of another source or state."""
    place = _place(loader.path)
    if place is None:
        return None
    try:
        with open(place, "rb") as file:
            key, *parts = marshal.load(file)
        valid = key == _key(loader, state)
    except (OSError, EOFError, ValueError, TypeError):  # none, or one that was damaged
        return None
    return Repaired(*parts) if valid else None


def write(loader: SourceFileLoader, state: tuple[Any, ...], repaired: Repaired) -> None:
    """Keep the code of a module, as Python does: if it may, at once and whole."""
    place = _place(loader.path)
    if sys.dont_write_bytecode or place is None:
        return
    try:
        entry = marshal.dumps((_key(loader, state), *repaired))
    except (OSError, ValueError):  # the source was removed, or has a constant that cannot be kept
        return
    # The loader's own way: by a temporary file, with the mode of the source; it makes the folder,
    # and does nothing where it must not write.
    loader._cache_bytecode(loader.path, place, entry)  # type: ignore[attr-defined]


def _place(path: str) -> str | None:
    try:
        return cache_from_source(path).removesuffix(".pyc") + _SUFFIX
    except NotImplementedError:  # a Python without such files
        return None


def _key(loader: SourceFileLoader, state: tuple[Any, ...]) -> tuple[Any, ...]:
    about = loader.path_stats(loader.path)
    return (MAGIC_NUMBER, _rules(), loader.path, about["mtime"], about["size"], *state)


def version(state: tuple[Any, ...]) -> str:
    """Return a part of a file's name that stands for the rules and a state of the program."""
    try:
        rules = _rules()
    except OSError:  # modules that are no files
        rules = ()
    return f"{zlib.crc32(repr((rules, state)).encode()):08x}"


@functools.cache
def _rules() -> tuple[Any, ...]:
    """Return the version of the rules: times and sizes of their modules."""
    folder = os.path.dirname(__file__)
    found = (os.stat(os.path.join(folder, f"{name}.py")) for name in _RULES)
    rules = tuple((about.st_mtime_ns, about.st_size) for about in found)
    return (*rules, _numpy())


def _numpy() -> bytes:
    """Return the version in NumPy's file: rules check its behaviour, and import it."""
    spec = PathFinder.find_spec("numpy")
    if spec is None or not spec.origin:
        return b""
    with open(os.path.join(os.path.dirname(spec.origin), "version.py"), "rb") as file:
        return file.read()
