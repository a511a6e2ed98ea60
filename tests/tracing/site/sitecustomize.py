"""Tracer of the modules of src that execute functions; `tools/test_index.py` runs tests under it.

A Python that starts with this folder on its path and a file in STILLFLOW_TEST_TRACE appends to that
file the path of each module. Code that runs while a module of ours is imported does not count.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

VARIABLE = "STILLFLOW_TEST_TRACE"
ROOT = Path(__file__).resolve().parents[3]
SOURCES = str(ROOT / "src") + os.sep
TOOL = 4  # of sys.monitoring: not the number of a debugger, of coverage or of a profiler


class Tracer:
    """Modules that execute functions, in all threads of the process.

    Attributes:
      modules: paths below the checkout, such as `src/stillflow/nest/flatten.py`.
      on_module: called with each module that is new.
    """

    def __init__(self, on_module: Callable[[str], None] | None = None) -> None:
        self.modules: set[str] = set()
        self.on_module = on_module
        self._names: dict[str, str] = {}

    def start(self) -> None:
        """Trace this process from now on."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            monitoring.use_tool_id(TOOL, "stillflow tests")
            monitoring.register_callback(TOOL, monitoring.events.PY_START, self._on_start)
            monitoring.set_events(TOOL, monitoring.events.PY_START)
        else:
            threading.setprofile(self._on_profile)
            sys.setprofile(self._on_profile)

    def restart(self) -> None:
        """Forget the modules found, and report functions again that have been seen."""
        self.modules = set()
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()

    def _on_start(self, code: CodeType, offset: int) -> Any:
        """Return DISABLE for code that needs no second look: it then runs at full speed."""
        name = self._name(code)
        if not name or name in self.modules:
            return sys.monitoring.DISABLE
        return sys.monitoring.DISABLE if self._take(name, sys._getframe(1)) else None

    def _on_profile(self, frame: FrameType, event: str, argument: Any) -> None:
        name = self._name(frame.f_code) if event == "call" else ""
        if name and name not in self.modules:
            self._take(name, frame)

    def _name(self, code: CodeType) -> str:
        """Path of a module of src; "" for other code."""
        file = code.co_filename
        if file not in self._names:
            ours = file.startswith(SOURCES)
            self._names[file] = Path(file).relative_to(ROOT).as_posix() if ours else ""
        return self._names[file]

    def _take(self, name: str, frame: FrameType | None) -> bool:
        """Note a module unless one of ours is being imported; True if noted."""
        while frame is not None:
            at_import = frame.f_code.co_name == "<module>" and self._name(frame.f_code)
            if at_import and frame.f_globals.get("__name__") != "__main__":
                return False
            frame = frame.f_back
        self.modules.add(name)
        if self.on_module is not None:
            self.on_module(name)
        return True


def append(name: str) -> None:
    """Write the path of a module into the file that the environment names."""
    path = os.environ.get(VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(name + "\n")


if __name__ == "sitecustomize" and os.environ.get(VARIABLE):
    Tracer(append).start()
