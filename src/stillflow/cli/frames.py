"""Tracebacks: the line of the program that failed, and cutting out the launcher's frames."""

from __future__ import annotations

import os
import runpy
import traceback

from stillflow.facade.frames import cut

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (("cli", ""), ("facade", ""), ("__main__.py",), ("_missing.py",), ("_namespace.py",))
_HIDDEN = tuple(os.path.join(_PACKAGE, *path) for path in _OURS)
_RUNPY = ("<frozen runpy>", runpy.__file__)


def without_ours(error: BaseException | None) -> None:
    """Cut our frames out of the tracebacks of an exception and of those it goes back to."""
    cut(error, lambda path: path.startswith(_HIDDEN) or path in _RUNPY)


def failing_line(error: BaseException, *, within_libraries: bool) -> tuple[str, int] | None:
    """Return path and number of the line of the program's own code that failed, if any.

    `within_libraries` is for an error that a library raised, which this line calls.
    """
    from stillflow.facade.revive.sources import own

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename
        if frame.lineno is not None and os.path.isfile(path) and own(path):
            return path, frame.lineno
        if not within_libraries:
            break
    return None
