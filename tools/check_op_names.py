"""Counts the names of operations in the runtime, which may only become fewer.

A fact about an operation stands on its card as a trait (`src/stillflow/ops/CARDS.md`). Only the
structure of control flow and the patterns of passes name operations; `op_names.tsv` says how often
each file does. A file with more fails, and so does one with fewer, until the list says so.

    python tools/check_op_names.py           # compare
    python tools/check_op_names.py --write   # lower the numbers of the list
    python tools/check_op_names.py --show FILE
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME, LIST = ROOT / "src/stillflow/runtime", Path(__file__).with_name("op_names.tsv")


def names_in(text: str, operations: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield line and value of each string in a source that is the name of an operation."""
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value in operations:
            yield node.lineno, value


def compare(found: dict[str, int], listed: dict[str, int]) -> list[str]:
    """Return a line for each file that names more or fewer operations than the list says."""
    return [
        f"{name}: names {found.get(name, 0)} operations, {listed.get(name, 0)} in {LIST.name}"
        for name in sorted(found.keys() | listed.keys())
        if found.get(name, 0) != listed.get(name, 0)
    ]


def lowered(found: dict[str, int], listed: dict[str, int]) -> dict[str, int]:
    """Return the list with the numbers found where these are lower; no number grows."""
    kept = {name: min(found.get(name, 0), count) for name, count in listed.items()}
    return {name: count for name, count in kept.items() if count}


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "src"))
    from stillflow.graph.card import load_all

    operations = frozenset(load_all())
    if arguments[:1] == ["--show"]:
        text = (ROOT / arguments[1]).read_text(encoding="utf-8")
        print("\n".join(f"{line}: {name}" for line, name in names_in(text, operations)))
        return 0
    found = {
        path.relative_to(ROOT).as_posix(): len(list(names_in(text, operations)))
        for path in RUNTIME.rglob("*.py")
        if (text := path.read_text(encoding="utf-8"))
    }
    found = {name: count for name, count in found.items() if count}
    lines = [line.split("\t") for line in LIST.read_text(encoding="utf-8").splitlines()]
    listed = {name: int(count) for name, count in lines}
    if arguments[:1] == ["--write"]:
        rows = sorted(lowered(found, listed).items())
        LIST.write_text("".join(f"{name}\t{count}\n" for name, count in rows), encoding="utf-8")
        return 0
    faults = compare(found, listed)
    hint = ["State the fact on the card (ops/CARDS.md); after a gain, --write."] if faults else []
    print("\n".join(faults + hint) or f"{sum(found.values())} names of operations, as listed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
