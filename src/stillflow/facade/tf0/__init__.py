"""TensorFlow 0.x: names and argument orders of before 1.0, for programs of 2015 and 2016.

``python -m stillflow --tf0 train.py`` switches it on. The modules below ``tensorflow`` then have
the API of 0.12: names changed in 1.0 exist under their old names as well, arguments reordered in
1.0 are taken in the old order, and recurrent cells make their variables where they are called.
Everything that 0.12 and 1.15 share is 1.15's. ``--tf0=0.10`` stands for 0.10 and earlier, whose
LSTMs keep their state in one tensor by default.
"""

from __future__ import annotations

import os
from types import ModuleType

_SWITCH = "STILLFLOW_TF0"
_LATEST = "0.12"


def activate(version: str = _LATEST) -> None:
    """Serve 0.x, "0.5" to "0.12", from now on in this process and in those that it starts."""
    if version not in {f"0.{minor}" for minor in range(5, 13)}:
        raise ValueError(f"--tf0={version}: give a version from 0.5 to {_LATEST}")
    os.environ[_SWITCH] = version
    _serve()


def activate_as_parent() -> None:
    """Serve 0.x if the process that started this one does."""
    if active():
        _serve()


def active() -> bool:
    """Return whether 0.x is served."""
    return bool(os.environ.get(_SWITCH))


def minor_version() -> int:
    """Return 12 for 0.12."""
    return int(os.environ.get(_SWITCH, _LATEST).partition(".")[2])


def _serve() -> None:
    from stillflow.facade import finder
    from stillflow.facade.tf0 import hooks

    finder.overlay = _kind
    hooks.activate()


def _kind(name: str) -> type[ModuleType] | str | None:
    from stillflow.facade.tf0 import served

    return served.kind(name)
