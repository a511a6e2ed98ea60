"""Write the generated tables of README.md and docs/, and the chart of docs/speed.md.

Each table stands between two comments, <!-- NAME --> and <!-- /NAME -->:

    README.md      coverage     symbols supported by area, short
    README.md      benchmarks   seven rows of the table in docs/speed.md
    README.md      inference    three rows of the table of inference there, as ratios
    docs/api.md    coverage     symbols supported by area, measured as tools/coverage_table.py does
    docs/speed.md  benchmarks   ratios to TensorFlow 1.15.5, from the file that `make bench` writes
    docs/speed.md  inference    milliseconds, from the file that `make bench-inference` writes
    docs/compatibility.md       rows and counts of docs/compatibility.tsv

    python tools/readme_tables.py [--benchmarks out/benchmarks.json]
                                  [--inference out/inference.json] [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import compat_page
from coverage_table import FACTS, Area, measure, root_module
from speed_chart import chart

ROOT = Path(__file__).resolve().parent.parent
README, DOCS = ROOT / "README.md", ROOT / "docs"
REFERENCE, OURS = "tf115", "stillflow"
NAMES = {
    "stillflow": "Stillflow", "tf2": "TF 2 `compat.v1`", "torch": "PyTorch",
    "compile": "`torch.compile`", "jax": "JAX",
}  # fmt: skip
RUNTIMES = {
    "tf115": "TF 1.15.5", "stillflow": "Stillflow", "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO", "torch": "PyTorch", "compile": "`torch.compile`",
    "freezing": "`torch.compile`, frozen",
}  # fmt: skip
AREAS = {
    "core": "graphs, variables, math, neural networks, losses, metrics, optimizers, sessions",
    "files": "checkpoints, SavedModel, TFRecord, frozen graphs, gfile",
    "input": "queues, readers, tf.data, images",
    "internals": "names that programs import from inside `tensorflow.python`",
    "contrib": "slim, layers, framework, ...",
    "see": "summaries, event files, profiler, tf.test",
    "control": "cond, while_loop, RNN cells and loops, py_func, tables",
    "keras": "tf.keras",
    "estimator": "tf.estimator, feature columns",
    "distributed": "servers, clusters, replicas",
    "eager": "eager execution, tf.function",
}
SHORT = {
    "core": "core: graphs, layers, optimizers, sessions",
    "files": "checkpoints, SavedModel, records",
    "input": "tf.data, queues, images", "internals": "inside `tensorflow.python`",
    "contrib": "tf.contrib", "see": "summaries, profiler", "control": "loops, RNNs",
    "keras": "tf.keras", "estimator": "tf.estimator", "distributed": "clusters, replicas",
    "eager": "eager, tf.function",
}  # fmt: skip
# Rows of docs/speed.md that README.md shows: models, input, a start; and three networks at work.
MATTER = [
    "Session.run, scalar add", "step, MLP + Adam", "step, MNIST CNN", "step, ResNet-20",
    "step, transformer", "TFRecords through tf.data", "import to first step, MNIST CNN",
]  # fmt: skip
NETWORKS = ["MobileNet v1, 1", "ResNet-50, 1", "BERT-base, 128 tokens, 8"]


def coverage(areas: dict[str, Area]) -> str:
    """Return the table of areas with the share of all uses."""
    lines = ["| area | | symbols | of all uses |", "|---|---|---:|---:|"]
    for name, area in areas.items():
        share = 100 * area.pairs_found // area.pairs  # 100 only where nothing is missing
        lines.append(f"| {name} | {AREAS[name]} | {area.found} of {area.symbols} | {share} % |")
    return "\n".join(lines)


def short_coverage(areas: dict[str, Area]) -> str:
    """Return the table of areas for README.md."""
    lines = ["| area | symbols |", "|---|---:|"]
    lines += [f"| {SHORT[name]} | {area.found} of {area.symbols} |" for name, area in areas.items()]
    return "\n".join(lines)


def benchmarks(records: list[dict[str, Any]]) -> str:
    """Return the table of ratios: the median of the rounds, smaller is better."""
    sys.path.insert(0, str(ROOT))
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


def inference(records: list[dict[str, Any]]) -> str:
    """Return the table of milliseconds of frozen graphs."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.inference import medians

    rows = medians(records)
    peers = [peer for peer in RUNTIMES if any(peer in row for row in rows.values())]
    lines = [
        "| | " + " | ".join(RUNTIMES[peer] for peer in peers) + " |",
        "|---|" + "---:|" * len(peers),
    ]
    for title, times in rows.items():
        cells = [_digits(times[peer]) if peer in times else "" for peer in peers]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _digits(milliseconds: float) -> str:
    """Return a time with three digits, or more where it has them before the point."""
    return f"{milliseconds:,.{max(0, 2 - int(math.log10(max(1, milliseconds))))}f}"


def ratios_to_first(table: str) -> str:
    """Return a table of times as ratios to those of its first column."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    rows = []
    for title, first, *times in lines[2:]:
        cells = [f"{_number(time) / _number(first):.2f}" if time else "" for time in times]
        rows.append([title, *cells])
    head = ["| | " + " | ".join(lines[0][2:]) + " |", "|---|" + "---:|" * len(lines[0][2:])]
    return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def rows_that_matter(table: str, names: Sequence[str] = MATTER) -> str:
    """Return the rows with these names, in that order, below the head of the whole table.

    Raises:
      ValueError: The table does not have one of them.
    """
    lines = table.splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines[2:]}
    missing = [name for name in names if name not in rows]
    if missing:
        raise ValueError(f"docs/speed.md has no row {missing[0]!r}")
    return "\n".join([*lines[:2], *(rows[name] for name in names)])


def block(text: str, name: str) -> str:
    """Return the table between its two comments."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- /{name} -->", text, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"no place for the table {name}")
    return found[1]


def replace(text: str, name: str, table: str) -> str:
    """Return the text with a table between its two comments.

    Raises:
      ValueError: The text has no such comments, or several.
    """
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    result, count = re.subn(
        pattern, lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"the page has {count} places for the table {name}")
    return result


Records = list[dict[str, Any]]


def pages(
    areas: dict[str, Area], records: Records | None, of_inference: Records | None
) -> dict[Path, str]:
    """Return the text of every file that has a generated part."""
    readme, api, speed, compatibility = (
        path.read_text(encoding="utf-8")
        for path in (README, DOCS / "api.md", DOCS / "speed.md", DOCS / "compatibility.md")
    )
    if records is not None:
        speed = replace(speed, "benchmarks", benchmarks(records))
    if of_inference is not None:
        speed = replace(speed, "inference", inference(of_inference))
    ratios, times = block(speed, "benchmarks"), block(speed, "inference")
    readme = replace(readme, "coverage", short_coverage(areas))
    for name, table in compat_page.tables().items():
        compatibility = replace(compatibility, name, table)
    readme = replace(readme, "benchmarks", rows_that_matter(ratios))
    return {
        README: replace(readme, "inference", rows_that_matter(ratios_to_first(times), NETWORKS)),
        DOCS / "api.md": replace(api, "coverage", coverage(areas)),
        DOCS / "speed.md": speed,
        DOCS / "speed.svg": chart(ratios),
        DOCS / "compatibility.md": compatibility,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--benchmarks", type=Path, metavar="JSON", help="results of `make bench`")
    parser.add_argument(
        "--inference", type=Path, metavar="JSON", help="results of `make bench-inference`"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if stale")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    facts = json.loads((FACTS / "signatures.json").read_text())
    records = times = None
    if arguments.benchmarks:
        records = json.loads(arguments.benchmarks.read_text())["records"]
    if arguments.inference:
        times = json.loads(arguments.inference.read_text())
    stale = {
        path: text
        for path, text in pages(measure(root_module(), facts), records, times).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        if arguments.check:
            print(f"{path.relative_to(ROOT)} is stale: run make tables", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return int(bool(stale) and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
