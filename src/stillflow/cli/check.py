"""Say which names of TensorFlow a program uses, and which of them are supported.

The program is read, not run. Names that it uses through containers, calls or getattr() are not
found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from typing import Any

from stillflow.cli.checking import sources
from stillflow.cli.checking.old_api import signs
from stillflow.cli.checking.refusals import REFUSALS
from stillflow.cli.checking.support import MISSING, REFUSED, SUPPORTED, UNKNOWN, verdict
from stillflow.cli.checking.uses import uses
from stillflow.facade.revive import python2_habits

_PLACES = 4  # so many are shown of each name; --all shows the rest


def main(arguments: list[str]) -> int:
    """Print the report; returns the exit status.

    It is 1 if a name is missing or unsupported, 2 if nothing was read.
    """
    parser = argparse.ArgumentParser(
        prog="python -m stillflow check", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("path", nargs="+", help="a program, a notebook, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="list supported names and all places")
    flags = parser.parse_args(arguments)
    try:
        report = check([file for path in flags.path for file in sources.find(path)])
    except FileNotFoundError as error:
        print(f"stillflow check: {error}", file=sys.stderr)
        return 2
    if flags.json:
        json.dump(report, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(report, flags.all)))
    if report["unreadable"] and len(report["unreadable"]) == len(report["files"]):
        return 2
    return int(any(not entry["optional"] for entry in _missing(report)))


def check(files: list[str]) -> dict[str, Any]:
    """Return the report on Python files and notebooks, as JSON can hold it.

    It has `files`; `unreadable`, {path: reason}; `names`, for each its status, the places that use
    it, `optional` if the program can do without it everywhere, and for an unsupported one its
    replacement; `tf0`, the code written for TensorFlow 0.x, with its places; `python2`, the places
    that mean something else in Python 2, in files that Python 3 can read, each with the reason.
    """
    import stillflow

    stillflow.install(revive=False)  # internal modules are looked for as programs import them
    places: dict[str, list[str]] = defaultdict(list)
    status: dict[str, str] = {}
    required = set()
    unreadable = {}
    old = []
    habits = []
    for path in files:
        try:
            tree, lines, translated = sources.parse(path)
        except (SyntaxError, OSError, RecursionError) as error:
            unreadable[path] = str(error)
            continue
        old += [
            {"name": sign.name, "place": f"{path}:{lines[min(sign.line, len(lines)) - 1]}"}
            for sign in signs(tree)
        ]
        for habit in () if translated else python2_habits.habits(tree):
            place = f"{path}:{lines[min(habit.line, len(lines)) - 1]}"
            habits.append({"place": place, "reason": habit.reason})
        for use in uses(tree):
            found = verdict(use.name)
            status[found.name] = found.status
            place = f"{path}:{lines[min(use.line, len(lines)) - 1]}"
            if place not in places[found.name]:
                places[found.name].append(place)
            if not use.guarded:
                required.add(found.name)
    entries = [
        {"name": name, "status": status[name], "optional": name not in required,
         "places": places[name],
         **({"instead": REFUSALS[name]} if status[name] == REFUSED else {})}
        for name in sorted(status)
    ]  # fmt: skip
    return {
        "files": files, "unreadable": unreadable, "names": entries, "tf0": old, "python2": habits,
    }  # fmt: skip


def _missing(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in report["names"] if entry["status"] != SUPPORTED]


def _lines(report: dict[str, Any], everything: bool) -> list[str]:
    entries, lacking = report["names"], _missing(report)
    counted = f"{_count(report['files'], 'file')}, {_count(entries, 'name')} of TensorFlow"
    lines = [f"{counted}, {len(entries) - len(lacking)} supported"]
    width = max((len(entry["name"]) for entry in (entries if everything else lacking)), default=0)
    for status in (MISSING, REFUSED, UNKNOWN, *([SUPPORTED] if everything else ())):
        shown = [entry for entry in entries if entry["status"] == status]
        lines += [f"\n{status}:"] * bool(shown)
        for entry in shown:
            lines.append(f"  {entry['name']:<{width}}  {_places(entry, everything)}")
            if status == REFUSED:
                lines.append(f"    instead: {entry['instead']}")
    old = [f"  {sign['name']:<{width}}  {os.path.relpath(sign['place'])}" for sign in report["tf0"]]
    if old:
        lines.append("\nwritten for TensorFlow 0.x, run it with `python -m stillflow --tf0`:")
        lines += _shortened(old, everything, "  ")
    habits = [
        f"  {os.path.relpath(habit['place'])}  {habit['reason']} there"
        for habit in report["python2"]
    ]
    if habits:
        lines.append("\nof Python 2, it seems (python -m stillflow --python2):")
        lines += _shortened(habits, everything, "  ")
    for path, reason in report["unreadable"].items():
        lines.append(f"\nnot read: {os.path.relpath(path)}: {reason}")
    return lines


def _count(things: list[Any], noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) != 1)}"


def _places(entry: dict[str, Any], everything: bool) -> str:
    places = [os.path.relpath(place) for place in entry["places"]]
    text = ", ".join(_shortened(places, everything))
    return f"{text}  (optional)" if entry["optional"] else text


def _shortened(items: list[str], everything: bool, indent: str = "") -> list[str]:
    """Return the first items, and how many more there are; or all of them."""
    rest = 0 if everything else len(items) - _PLACES
    return items if rest <= 0 else [*items[:_PLACES], f"{indent}… ({rest} more)"]
