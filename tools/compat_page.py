"""Tables of docs/compatibility.md, from the manifest docs/compatibility.tsv."""

from __future__ import annotations

from collections import Counter, defaultdict

from compat import Row, read_rows

RESULTS = {
    "runs": "run",
    "fails in TensorFlow 1.15.5 too": "fail here as they fail in TensorFlow 1.15.5",
    "fails in part": "fail in part: some of their tests",
    "fails": "fail",
}
NUMBERS = {
    "same": "the same numbers as TensorFlow 1.15.5",
    "same at first": "the same numbers at first; then rounding grows or values part",
    "differ": "other numbers",
    "none printed": "no numbers to compare",
    "not compared": "not compared with TensorFlow 1.15.5",
}
KINDS = {
    "program": "Programs",
    "checked program": "Programs with checks of their own",
    "tests": "Libraries, by their own tests",
    "files": "Files: models, checkpoints, records, logs",
    "reported": "Programs without a recorded command",
}


def counts(rows: list[Row]) -> str:
    """Return the counts by result and by numbers."""
    results = Counter(row.result for row in rows)
    numbers = Counter(row.numbers for row in rows if row.result == "runs")
    lines = ["| rows | |", "|---:|---|", f"| {len(rows)} | in all |"]
    lines += [f"| {results[key]} | {text} |" for key, text in RESULTS.items()]
    lines += [f"| {numbers[key]} | run: {text} |" for key, text in NUMBERS.items()]
    return "\n".join(lines)


def table(rows: list[Row], by_repository: bool) -> str:
    """Return the rows of a kind, under a heading for each repository if there are many."""
    head = [
        "| name | what was run | needs | result | numbers |",
        "|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        key = (row.repository, row.commit) if by_repository else ("", "")
        groups[key].append(row)
    lines = []
    for (repository, commit), members in groups.items():
        if repository:
            at = f" at `{commit[:12]}`" if commit else ""
            lines += [f"**{repository}**{at}", ""]
        lines += [*head, *(line(row, not by_repository) for row in members), ""]
    return "\n".join(lines).rstrip()


def line(row: Row, with_repository: bool) -> str:
    """Return a row of the page."""
    name = f"`{row.name}`"
    if with_repository:
        at = f" `{row.commit[:12]}`" if row.commit else ""
        name += f" {row.repository}{at}"
    what = f"`{row.what}`" if row.kind == "program" else row.what
    numbers = row.numbers if not row.detail else f"{row.numbers}: {row.detail}"
    cells = (name, what.replace("|", r"\|"), row.needs, row.result, numbers.replace("|", r"\|"))
    return "| " + " | ".join(cells) + " |"


def tables() -> dict[str, str]:
    """Return the tables of the page by the names of their places."""
    rows = [row for row in read_rows() if row.result]
    found = {"counts": counts(rows)}
    for kind in KINDS:
        members = [row for row in rows if row.kind == kind]
        found[kind.replace(" ", "-")] = table(members, kind in ("program", "files"))
    return found
