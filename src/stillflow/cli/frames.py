"""Tracebacks without the frames of the launcher and of the import hook."""

from __future__ import annotations

import os
import runpy
from types import TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (("cli", ""), ("facade", ""), ("__main__.py",), ("_missing.py",), ("_namespace.py",))
_HIDDEN = tuple(os.path.join(_PACKAGE, *path) for path in _OURS)
_RUNPY = ("<frozen runpy>", runpy.__file__)


def without_ours(error: BaseException | None) -> None:
    """Cut our frames out of the tracebacks of an exception and of those it goes back to."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _cut(one.__traceback__)
            todo += [one.__cause__, one.__context__]


def _cut(traceback: TracebackType | None) -> TracebackType | None:
    kept = []
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if not path.startswith(_HIDDEN) and path not in _RUNPY:
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
