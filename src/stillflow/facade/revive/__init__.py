"""The old world: what programs of TensorFlow 1's days expect of Python and its libraries.

Each module here restores one thing.  All of it only happens on request, only adds missing things,
and is announced once on stderr when a program makes use of it.  ``python -m stillflow --no-revive``
leaves it out.
"""

from __future__ import annotations

import importlib

_PARTS = (
    "almost_equal",
    "attributes",
    "submodules",
    "modules",
    "sources",
    "tensor_lists",
    "arrays",
    "uneven",
    "protobuf",
    "hdf5",
    "libraries",
    "distribution",
    "downloads",
    "headless",
    "pytest_modules",
    "processes",
)
_active = False


def activate() -> None:
    """Bring everything back; does nothing the second time."""
    global _active
    if not _active:
        _active = True
        for part in _PARTS:
            importlib.import_module(f"{__name__}.{part}").activate()


def active() -> bool:
    """Return whether the old world has been brought back."""
    return _active
