"""Writes the tables of README.md anew, from measurements.

Each table stands between two comments, <!-- NAME --> and <!-- /NAME -->:

    coverage    what is there of what programs use: measured here, as tools/coverage_table.py does
    benchmarks  ratios to TensorFlow 1.15.5: from the file that `make bench` writes

    python tools/readme_tables.py [--benchmarks out/benchmarks.json] [--check]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from coverage_table import FACTS, Area, measure, root_module

README = Path(__file__).resolve().parent.parent / "README.md"
REFERENCE, OURS = "tf115", "stillflow"
NAMES = {"stillflow": "Stillflow", "tf2": "TF 2 `compat.v1`", "torch": "PyTorch", "jax": "JAX"}
AREAS = {
    "core": "graphs, variables, math, neural networks, losses, metrics, optimizers, sessions",
    "files": "checkpoints, SavedModel, TFRecord, frozen graphs, gfile",
    "input": "queues, readers, tf.data, images",
    "internals": "what programs import from inside `tensorflow.python`",
    "contrib": "slim, layers, framework, ...",
    "see": "summaries, event files, profiler, tf.test",
    "control": "cond, while_loop, RNN cells and loops, py_func, tables",
    "keras": "tf.keras",
    "estimator": "tf.estimator, feature columns",
    "distributed": "servers, clusters, replicas",
    "eager": "eager execution, tf.function",
}


def coverage(areas: dict[str, Area]) -> str:
    """The table of areas."""
    lines = ["| area | | symbols there | of all uses |", "|---|---|---:|---:|"]
    for name, area in areas.items():
        share = 100 * area.pairs_found // area.pairs  # 100 only where nothing lacks
        lines.append(f"| {name} | {AREAS[name]} | {area.found} of {area.symbols} | {share} % |")
    return "\n".join(lines)


def benchmarks(records: list[dict[str, Any]]) -> str:
    """The table of ratios: the median of the rounds, smaller is better."""
    sys.path.insert(0, str(README.parent))
    from benchmarks import report

    names = [name for name in NAMES if any(row["implementation"] == name for row in records)]
    lines = [
        "| | " + " | ".join(NAMES[name] for name in names) + " |",
        "|---|" + "---:|" * len(names),
    ]
    for row in report.rows():
        ratios = [report.ratio(records, row, name, REFERENCE) for name in names]
        if ratios[names.index(OURS)] is not None:
            cells = ["" if ratio is None else f"{ratio.median:.2f}" for ratio in ratios]
            lines.append(f"| {row.title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def replace(text: str, name: str, table: str) -> str:
    """The text with a table between its two comments.

    Raises:
      ValueError: The text has no such comments.
    """
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    result, count = re.subn(
        pattern, lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"README.md has {count} places for the table {name}")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--benchmarks", type=Path, metavar="JSON", help="results of `make bench`")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if stale")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    before = README.read_text(encoding="utf-8")
    facts = json.loads((FACTS / "signatures.json").read_text())
    text = replace(before, "coverage", coverage(measure(root_module(), facts)))
    if arguments.benchmarks:
        records = json.loads(arguments.benchmarks.read_text())["records"]
        text = replace(text, "benchmarks", benchmarks(records))
    if arguments.check:
        if text != before:
            print("readme_tables: README.md is stale; run make tables", file=sys.stderr)
        return text != before
    README.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
