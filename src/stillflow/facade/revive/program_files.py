"""The files of a program, told from those of Python and of installed packages."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig

_PACKAGES = {"site-packages", "dist-packages"}
_installed: tuple[str, ...] | None = None


def own(path: str) -> bool:
    """Return whether a file belongs to a program rather than to Python or an installed package."""
    path = os.path.abspath(path)
    # Another environment's packages come by PYTHONPATH, ``--system-site-packages`` or a .pth file.
    if not _PACKAGES.isdisjoint(path.split(os.sep)) or path.startswith(installed_folders()):
        return False
    roots = [os.path.abspath(entry) for entry in sys.path]
    return not any(path.startswith(root + os.sep) and _holds_packages(root) for root in roots)


@functools.cache
def _holds_packages(folder: str) -> bool:
    """Return whether packages were installed into a folder, as by ``pip install --target``."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def installed_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages."""
    global _installed
    if _installed is None:
        import site

        keys = ("stdlib", "platstdlib", "purelib", "platlib")
        folders = [sysconfig.get_path(key) for key in keys]
        folders += [*getattr(site, "getsitepackages", list)(), site.getusersitepackages()]
        ours = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        folders += [ours, f"{ours}_contrib"]
        folders += [os.path.realpath(folder) for folder in folders]
        _installed = tuple({os.path.join(os.path.abspath(folder), "") for folder in folders})
    return _installed
