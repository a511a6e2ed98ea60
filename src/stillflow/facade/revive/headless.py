"""Matplotlib draws without a display where there is none."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say


def activate() -> None:
    """Choose the backend before matplotlib does; a choice that somebody has made stays."""
    if not display() and "MPLBACKEND" not in os.environ and "matplotlib" not in sys.modules:
        os.environ["MPLBACKEND"] = "Agg"
        after_import("matplotlib", _tell)
        after_import("matplotlib.backend_bases", _wait_for_nobody)


def display() -> bool:
    """Return whether windows can be shown."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _tell(module: ModuleType) -> None:
    say("there is no display; matplotlib draws with the Agg backend")


def _wait_for_nobody(module: ModuleType) -> None:
    """`plt.waitforbuttonpress` and `plt.ginput` without a timeout would wait for ever."""
    start = module.FigureCanvasBase.start_event_loop

    def start_event_loop(self: Any, timeout: float = 0) -> None:
        if timeout > 0:
            start(self, timeout)

    module.FigureCanvasBase.start_event_loop = start_event_loop
