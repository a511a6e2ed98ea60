"""Matplotlib draws without a display where there is none."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say


def activate() -> None:
    """Choose the backend before matplotlib does; a choice that somebody has made stays."""
    if not display() and "MPLBACKEND" not in os.environ and "matplotlib" not in sys.modules:
        os.environ["MPLBACKEND"] = "Agg"
        after_import("matplotlib", _tell)


def display() -> bool:
    """Return whether windows can be shown."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _tell(module: ModuleType) -> None:
    say("there is no display; matplotlib draws with the Agg backend")
