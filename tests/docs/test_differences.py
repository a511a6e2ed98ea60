"""docs/differences.md: each row names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import stillflow

ROOT = Path(stillflow.__file__).parents[2]
PAGE = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
HEAD = "| TensorFlow 1.15.5 | Stillflow | reason | test |"


def rows() -> list[list[str]]:
    """Return the cells of every row below a head."""
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
        if line != HEAD and not line.startswith("|---")
    ]


def test_each_row_says_what_differs_why_and_where_it_is_tested() -> None:
    assert rows()
    for row in rows():
        assert len(row) == 4 and all(row), row
        assert all((ROOT / path.strip()).exists() for path in row[3].split(",")), row


def test_each_section_has_a_table_with_the_same_head() -> None:
    sections = PAGE.split("\n## ")[1:]
    assert all(HEAD in section for section in sections)
