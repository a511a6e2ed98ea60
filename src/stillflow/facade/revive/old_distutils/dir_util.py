"""``distutils.dir_util``."""

from __future__ import annotations

import os
import shutil


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Make a folder and those above it; returns those that were made."""
    made: list[str] = []
    path = os.path.normpath(name)
    while path and not os.path.isdir(path):
        made.insert(0, path)
        path = os.path.dirname(path)
    if not dry_run:
        os.makedirs(name, mode, exist_ok=True)
    return made


def copy_tree(
    src: str,
    dst: str,
    preserve_mode: int = 1,
    preserve_times: int = 1,
    preserve_symlinks: int = 0,
    update: int = 0,
    verbose: int = 1,
    dry_run: int = 0,
) -> list[str]:
    """Copy a folder into another that may exist; returns the files that were written."""
    written: list[str] = []

    def copy(source: str, target: str) -> None:
        newest = update and os.path.exists(target)
        if newest and os.path.getmtime(target) >= os.path.getmtime(source):
            return
        written.append(target)
        (shutil.copy2 if preserve_times else shutil.copy)(source, target)

    if not dry_run:
        shutil.copytree(
            src, dst, symlinks=bool(preserve_symlinks), copy_function=copy, dirs_exist_ok=True
        )
    return written


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Remove a folder and everything in it."""
    if not dry_run:
        shutil.rmtree(directory)
