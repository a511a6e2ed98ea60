"""Tracebacks without the frames of the launcher and of the import hook."""

from __future__ import annotations

import os
import runpy

from stillflow.facade.frames import cut

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (("cli", ""), ("facade", ""), ("__main__.py",), ("_missing.py",), ("_namespace.py",))
_HIDDEN = tuple(os.path.join(_PACKAGE, *path) for path in _OURS)
_RUNPY = ("<frozen runpy>", runpy.__file__)


def without_ours(error: BaseException | None) -> None:
    """Cut our frames out of the tracebacks of an exception and of those it goes back to."""
    cut(error, lambda path: path.startswith(_HIDDEN) or path in _RUNPY)
