"""Failures of TensorFlow's own unit tests, each with a reason: a list that only shrinks.

    python tools/conformance_gaps.py RESULTS --kit DIR --area core            compare with the list
    python tools/conformance_gaps.py RESULTS --kit DIR --area core --write    writes it again

Reasons that are in the list already stay as they are.

RESULTS is the output of the kit's conformance.py (tools/conformance.sh runs both). The list is
tests/conformance/AREA.tsv: test file, method, reason. The comparison with a run fails if an
unlisted method fails; listed ones that pass are named, to be removed by --write.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

LISTS = Path(__file__).resolve().parent.parent / "tests" / "conformance"

# Patterns of errors with their meanings; the first match counts, else the first line of the error.
REASONS = [
    (r"no eager execution|eager_execution|eager execution", "eager execution"),
    (r"GradientTape", "gradient tapes"),
    (r"def_function\.function|defun|Defun|wrap_function", "tf.function and function libraries"),
    (r"only integers, slices|invalid index to scalar|only 0-dimensional|out of bounds for u?int",
     "the test itself does not run under NumPy 2"),
    (r"'tostring'|of an empty array is ambiguous|arrays to stack must|too many indices for array",
     "the test itself does not run under NumPy 2"),
    (r"([\w.]+) is not supported by Stillflow yet", r"\1 is missing"),
    (r"The operation (\w+) is not supported", r"the operation \1 is missing"),
    (r"Op type not registered '(\w+)'", r"the operation \1 is missing"),
]  # fmt: skip
LONGEST = 110

Gap = tuple[str, str]  # test file, method


def reason(error: str) -> str:
    """Return a short reason for an error message."""
    error = error.encode("utf-8", "replace").decode()
    for pattern, text in REASONS:
        match = re.search(pattern, error)
        if match:
            return match.expand(text)
    line = " ".join(re.sub(r"0x[0-9a-f]+", "0x…", error).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def failures(results: Path, kit: Path, area: str) -> dict[Gap, str]:
    """Return the methods of an area that pass on TensorFlow 1.15.5 and did not pass here."""
    run = json.loads(results.read_text())["files"]
    reference = json.loads((kit / "reference.json").read_text())["files"]
    rows = json.loads((kit / "areas.json").read_text())
    found: dict[Gap, str] = {}
    for file, row in rows.items():
        if row["area"] != area or row["class"] != "public" or file not in reference:
            continue
        record = run.get(file, {})
        for method in reference[file]["tests"]:
            outcome = record.get("tests", {}).get(method, {})
            if outcome.get("s") not in ("pass", "skip"):
                error = outcome.get("e") or record.get("error") or outcome.get("s") or "not run"
                found[file, method] = reason(str(error))
    return found


def read(path: Path) -> dict[Gap, str]:
    """Return the committed list; an area without one has to pass whole."""
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text().splitlines() if line[:1] not in "#"]
    return {(file, method): why for file, method, why in rows}


def write(path: Path, area: str, found: dict[Gap, str]) -> None:
    """Write the list again."""
    head = (
        f"# Methods of TensorFlow's own unit tests, area {area}, that pass on TensorFlow 1.15.5\n"
        "# and not here. Written by tools/conformance_gaps.py: file, method, reason, by tabs.\n"
    )
    lines = [f"{file}\t{method}\t{why}\n" for (file, method), why in sorted(found.items())]
    path.write_text(head + "".join(lines))


def compare(listed: dict[Gap, str], found: dict[Gap, str]) -> int:
    """Says how a run differs from the list; returns 1 if something fails that is not listed."""
    for gap in sorted(listed.keys() - found.keys()):
        print("passes now, remove it:", *gap)
    fresh = sorted(found.keys() - listed.keys())
    for gap in fresh:
        print("fails and is not listed:", *gap, "|", found[gap])
    print(f"{len(found)} fail, {len(listed)} are listed")
    return 1 if fresh else 0


def main() -> int:
    """Compare or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="JSON of conformance.py")
    parser.add_argument("--kit", type=Path, required=True, help="folder of conformance.py")
    parser.add_argument("--area", default="core", help="(%(default)s)")
    parser.add_argument("--write", action="store_true", help="write the list again")
    options = parser.parse_args()
    path = LISTS / f"{options.area}.tsv"
    found = failures(options.results, options.kit, options.area)
    listed = read(path)
    if options.write:
        write(path, options.area, {gap: listed.get(gap, why) for gap, why in found.items()})
        return 0
    return compare(listed, found)


if __name__ == "__main__":
    sys.exit(main())
