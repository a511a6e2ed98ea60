"""Coverage of the names that programs use, by area: a table, and the list of missing names.

A symbol counts when it exists and is called as TensorFlow 1.15's is: the same arguments, in the
same order, with the same defaults. The facts are tests/facts/signatures.json, recorded by
tools/public_signatures.py; another file of that form can be given.

    python tools/coverage_table.py                   the table
    python tools/coverage_table.py --missing core    an area's missing names, most used first
    python tools/coverage_table.py --json FILE       the figures, for tools/readme_tables.py
    python tools/coverage_table.py --write-gaps      write tests/facts/gaps.txt, for the area core
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from public_signatures import describe, resolve, same

FACTS = Path(__file__).resolve().parent.parent / "tests" / "facts"
GAPS = FACTS / "gaps.txt"
GAPS_HEAD = """\
# Symbols of the area `core` that programs use and that are missing, or have another signature.
# A test compares this list with the package both ways, so it can only shrink honestly. To write it
# again: python tools/coverage_table.py --write-gaps
"""


@dataclass
class Area:
    """The count of one area; `pairs` weighs a symbol by the repositories that use it."""

    symbols: int = 0
    found: int = 0
    pairs: int = 0
    pairs_found: int = 0
    gaps: list[tuple[int, str, str]] = field(default_factory=list)


def gap(root: ModuleType, symbol: str, recorded: str) -> str | None:
    """Return a symbol's gap, or None: "missing", or its present and its required signature."""
    try:
        value = resolve(root, symbol)
        found = describe(value)
    except AttributeError:
        return "missing"
    except Exception as error:
        return f"raises {type(error).__name__}: {error}".splitlines()[0]
    if str(getattr(value, "__module__", "")).partition(".")[0] in sys.stdlib_module_names:
        return None  # Python's own, which its version decides
    return None if same(recorded, found) else f"is {found}, should be {recorded}"


def measure(root: ModuleType, facts: dict[str, tuple[str, int, str]]) -> dict[str, Area]:
    """Count every area of the facts {symbol: (area, repositories, description)}."""
    areas: dict[str, Area] = defaultdict(Area)
    for symbol, (name, repositories, recorded) in facts.items():
        area = areas[name]
        area.symbols += 1
        area.pairs += repositories
        problem = gap(root, symbol, recorded)
        if problem is None:
            area.found += 1
            area.pairs_found += repositories
        else:
            area.gaps.append((repositories, symbol, problem))
    return dict(sorted(areas.items(), key=lambda item: -item[1].pairs))


def gap_lines(area: Area) -> list[str]:
    """Return the lines of gaps.txt."""
    return sorted(f"{symbol}: {problem}" for _, symbol, problem in area.gaps)


def write_gaps(facts: dict[str, tuple[str, int, str]]) -> None:
    """Write gaps.txt: the area `core`, looked up in the package itself."""
    core = {symbol: row for symbol, row in facts.items() if row[0] == "core"}
    lines = gap_lines(measure(importlib.import_module("stillflow"), core)["core"])
    GAPS.write_text(GAPS_HEAD + "".join(f"{line}\n" for line in lines))


def root_module() -> ModuleType:
    """Return the module `tensorflow` as Stillflow serves it, including internal paths."""
    import stillflow

    stillflow.install(revive=False)
    return importlib.import_module("tensorflow")


def table(areas: dict[str, Area]) -> str:
    """Return the figures as text."""
    lines = [f"{'area':12} {'symbols':>14} {'uses':>16}"]
    for name, area in areas.items():
        symbols = f"{area.found}/{area.symbols} {100 * area.found / area.symbols:4.0f}%"
        pairs = f"{area.pairs_found}/{area.pairs} {100 * area.pairs_found / area.pairs:4.0f}%"
        lines.append(f"{name:12} {symbols:>14} {pairs:>16}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("facts", nargs="?", type=Path, default=FACTS / "signatures.json")
    parser.add_argument("--missing", metavar="AREA", help="list the missing names of an area")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--write-gaps", action="store_true", help=f"write {GAPS.name}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.write_gaps:  # first: internal modules that are imported become attributes
        write_gaps(json.loads((FACTS / "signatures.json").read_text()))
    areas = measure(root_module(), json.loads(arguments.facts.read_text()))
    if arguments.missing:
        for repositories, symbol, problem in sorted(areas[arguments.missing].gaps, reverse=True):
            print(f"{repositories:4} {symbol}: {problem}")
    else:
        print(table(areas))
    if arguments.json:
        figures = {name: [a.found, a.symbols, a.pairs_found, a.pairs] for name, a in areas.items()}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
