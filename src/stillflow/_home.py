"""The two packages of the wheel, `stillflow` and `stillflow_contrib`: their folders and modules."""

from __future__ import annotations

import os

_STILLFLOW = os.path.dirname(os.path.abspath(__file__))
FOLDERS = (_STILLFLOW + os.sep, _STILLFLOW + "_contrib" + os.sep)
_PACKAGES = frozenset({"stillflow", "stillflow_contrib"})


def is_our_module(name: str | None) -> bool:
    """Return whether a module of this name is one of ours."""
    return name is not None and name.partition(".")[0] in _PACKAGES
