"""The list of functions that have to be like TensorFlow's: short, reasoned, and of this tree."""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).resolve().parent
SRC = HERE.parents[1] / "src"
ROWS = [line.split("\t") for line in (HERE / "forced.tsv").read_text().splitlines()]


def _defined(file: str) -> set[str]:
    """Return what the list may name of a file: functions, `Class.method`, `Class.*`, `*`."""
    found = {"*"}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found.add(f"{prefix}{node.name}.*")
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                found.add(f"{prefix}{node.name}")
                walk(node.body, f"{prefix}{node.name}.")

    walk(ast.parse((SRC / file).read_text(encoding="utf-8")).body, "")
    return found


def test_rows_have_a_reason_and_stand_once():
    assert all(len(row) == 3 and len(row[2].split()) > 2 for row in ROWS)
    assert len({(file, name) for file, name, _ in ROWS}) == len(ROWS)


def test_rows_name_what_there_is():
    assert [row for row in ROWS if row[1] not in _defined(row[0])] == []


def test_list_stays_short():
    assert len(ROWS) <= 120
