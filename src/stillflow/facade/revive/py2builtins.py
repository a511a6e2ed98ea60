"""Python 2's built-in functions that are not built in any more."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import reload
from sys import intern
from typing import Any

__all__ = [
    "apply",
    "basestring",
    "buffer",
    "cmp",
    "execfile",
    "file",
    "intern",
    "long",
    "raw_input",
    "reduce",
    "reload",
    "unichr",
    "unicode",
    "xrange",
]

basestring = unicode = str
buffer = memoryview
file = io.open
long = int
raw_input = input
unichr = chr
xrange = range


def cmp(x: Any, y: Any) -> int:
    """Return -1, 0 or 1 for less, equal or greater."""
    return int(x > y) - int(x < y)


def apply(
    function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Call a function with arguments from a sequence and a mapping."""
    return function(*args, **(kwargs or {}))


def execfile(
    path: str, globals: dict[str, Any] | None = None, locals: dict[str, Any] | None = None
) -> None:
    """Run a file in the caller's namespace, or in the one that is given."""
    from stillflow.facade.revive.sources import compiled

    if globals is None:
        frame = sys._getframe(1)
        globals, locals = frame.f_globals, frame.f_locals
    with open(path, "rb") as program:
        code = compiled(program.read(), path)
    exec(code, globals, locals)
