"""Run a program and show the plan of each `session.run`: its passes, its steps, where time goes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stillflow.runtime.explain.record import PlanReport


def main(arguments: list[str]) -> int:
    """Run the program, then print or draw its plans; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stillflow explain", description=__doc__,
        epilog="Options come before the program; what follows it is the program's own.",
    )  # fmt: skip
    parser.add_argument("--time", action="store_true", help="time each step, over all runs")
    parser.add_argument("--dot", type=Path, metavar="FILE", help="draw the plans for Graphviz")
    parser.add_argument("--html", type=Path, metavar="FILE", help="draw the plans for a browser")
    parser.add_argument("--source", action="store_true", help="print the Python function, too")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="plans that fetch or run a name with this in it"
    )
    for flag, what in (("-m", "MODULE"), ("-c", "CODE")):
        parser.add_argument(
            flag,
            nargs=argparse.REMAINDER,
            metavar=what,
            help="run this with the arguments after it",
        )
    parser.add_argument("program", nargs=argparse.REMAINDER, help="its path, and its arguments")
    options = parser.parse_args(arguments)
    given = [flag for flag in ("m", "c") if getattr(options, flag)]
    program = [f"-{given[0]}", *getattr(options, given[0])] if given else options.program
    if not program:
        parser.error("name a program to run")
    from stillflow.cli.run import run
    from stillflow.runtime.explain import recorded

    status: object = 0
    with recorded(timed=options.time) as plans:
        try:
            run(program, revive=True)
        except SystemExit as end:
            status = end.code
    chosen = [plan for plan in plans if any(options.only in name for name in plan.fetches)]
    _write(chosen, options)
    if isinstance(status, str):
        print(status, file=sys.stderr)
    return status if isinstance(status, int) else int(status is not None)


def _write(plans: list[PlanReport], options: argparse.Namespace) -> None:
    from stillflow.runtime.explain.drawing import dot_of, page_of
    from stillflow.runtime.explain.text import text_of

    for path, text_for in ((options.dot, dot_of), (options.html, page_of)):
        if path is not None:
            path.write_text(text_for(plans), encoding="utf-8")
    if options.dot is None and options.html is None:
        for plan in plans:
            print("", text_of(plan), sep="\n")
            if options.source and plan.source:
                print("", plan.source, sep="\n")
    print(f"\n{len(plans)} plan{'s' * (len(plans) != 1)}", file=sys.stderr)
