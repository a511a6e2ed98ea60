"""``distutils.spawn``."""

from __future__ import annotations

import shutil


def find_executable(executable: str, path: str | None = None) -> str | None:
    """Return the path of a program, None if it is not found."""
    return shutil.which(executable, path=path)
