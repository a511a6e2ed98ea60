"""Inspection of a debugger's dumps: list and print tensors, show nodes and their connections."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from stillflow.tools.command_line import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = parser(
        "offline_analyzer",
        __doc__,
        ("dump_dir", "", "tfdbg dump directory to load"),
        ("log_usage", True, "not used"),
        ("ui_type", "curses", "curses or readline; both are the same here"),
        ("validate_graph", True, "check the dumps against the graphs next to them"),
    )
    flags = options.parse_args(arguments)
    if not flags.dump_dir:
        print("ERROR: dump_dir flag is empty.", file=sys.stderr)
        return 1
    if not os.path.isdir(flags.dump_dir):
        raise OSError(f"Dump root directory {flags.dump_dir} does not exist")

    from stillflow.debug.console.analyzer import create_analyzer_ui, find_dumps, say_runs
    from stillflow.debug.dump_dir import DebugDumpDir
    from stillflow.debug.tensor_dump import has_inf_or_nan

    runs = find_dumps(flags.dump_dir)
    if len(runs) > 1:
        say_runs(runs)
        return 1
    print(f"tfdbg offline: FLAGS.dump_dir = {runs[0]}")
    dump = DebugDumpDir(runs[0], validate=flags.validate_graph)
    ui = create_analyzer_ui(dump, {"has_inf_or_nan": has_inf_or_nan}, flags.ui_type)
    ui.run_ui("lt", f"tfdbg offline @ {runs[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
