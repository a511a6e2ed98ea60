"""The conversation about dumps of a run that is long over."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from stillflow.debug.console.command_line import CommandLine
from stillflow.debug.console.config import Config
from stillflow.debug.console.run_console import dump_commands
from stillflow.debug.dump_dir import DebugDumpDir


class AnalyzerUi:
    """Console that shows parts of a dump in the terminal.

    Args:
      dump: the dump of a run.
      filters: tensor filters by name.
      config: the settings.
    """

    def __init__(
        self, dump: DebugDumpDir, filters: dict[str, Callable[..., bool]], config: Config
    ) -> None:
        names = [datum.tensor_name for datum in dump.dumped_tensor_data]
        self._line = CommandLine(dump_commands(dump, filters, config), names)

    def run_ui(
        self, init_command: str | None = None, title: str | None = None, title_color: Any = None
    ) -> None:
        """Run the console until "exit".

        Args:
          init_command: a command to begin with.
          title: what to say first.
          title_color: not used.
        """
        del title_color
        opening = [title] if title else []
        self._line.converse(opening + (self._line.answer(init_command) if init_command else []))


def create_analyzer_ui(
    debug_dump: DebugDumpDir,
    tensor_filters: dict[str, Callable[..., bool]] | None = None,
    ui_type: str = "curses",
    on_ui_exit: Any = None,
    config: Config | None = None,
) -> AnalyzerUi:
    """Return a conversation about a dump, by the settings of `~/.tfdbg_config` if none are given.

    `run_ui` begins it. "curses" and "readline" are the same line by line conversation here;
    `on_ui_exit` is not used. Filters take a `DebugTensorDatum` and its value.
    """
    del on_ui_exit
    if ui_type not in ("curses", "readline"):
        raise ValueError(f"Invalid ui_type: '{ui_type}'")
    return AnalyzerUi(debug_dump, dict(tensor_filters or {}), config or Config())


def find_dumps(folder: str) -> list[str]:
    """Return the runs in a folder of dumps: the folder itself, or a session's `run_...` in it."""
    runs = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    runs = [run for run in runs if os.path.basename(run).startswith("run_") and os.path.isdir(run)]
    return runs or [folder]


def say_runs(runs: list[str]) -> None:
    """Says that a folder has several runs, and which."""
    print(f"There are {len(runs)} runs there; name one of them:", file=sys.stderr)
    for run in runs:
        print(f"  --dump_dir {run}", file=sys.stderr)
