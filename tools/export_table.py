"""The table of operations that are not exported, in docs/export.md, from the tests' list.

python tools/export_table.py            # exit status 1 if the page is not up to date
python tools/export_table.py --write
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "export.md"
LISTED = ROOT / "tests" / "export" / "not_exported.tsv"
BEGIN, END = "<!-- begin operations -->\n", "<!-- end operations -->\n"
sys.path.insert(0, str(ROOT / "src"))


def exportable() -> int:
    """Return how many operations have samples and give something."""
    from stillflow.graph.card import load_all

    cards = load_all().values()
    return sum(bool(card.samples_part and card.signature.outputs) for card in cards)


def table() -> str:
    """Return the table as Markdown."""
    reasons: dict[str, list[str]] = {}
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    for line in filter(None, lines):
        name, reason = line.split("\t")
        reasons.setdefault(reason, []).append(f"`{name}`")
    count = sum(map(len, reasons.values()))
    total = exportable()
    rows = [f"| {', '.join(names)} | {reason} |" for reason, names in sorted(reasons.items())]
    return "\n".join([
        f"Of the {total} operations whose cards have samples, {total - count} go out as source",
        "over PyTorch and are compared with the session on each sample. These do not:",
        "",
        "| operations | reason |",
        "|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def main() -> int:
    """Check or write the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="bring the page up to date")
    flags = parser.parse_args()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if flags.write:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not up to date: python tools/export_table.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
