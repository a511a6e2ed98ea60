"""The bounds of the runtime: lines of code, imports, complexity; and that of the main package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.check_budgets import (
    RUNTIME_LINES,
    code_lines,
    complexity,
    main_package_faults,
    runtime_faults,
)

SOURCE = '''"""A module."""

import os
from typing import (
    Any,
)


def read(path: str) -> Any:
    """Read it."""
    # with a comment
    text = """two
    lines"""
    return os.stat(
        path,
    ), text
'''


def test_docstrings_imports_and_comments_are_no_code() -> None:
    assert code_lines(SOURCE) == 6


def test_overloads_are_types_and_no_code() -> None:
    overload = "@overload\ndef f(\n    x: int,\n) -> int: ...\n"
    assert code_lines(f"{overload}{overload}def f(x):\n    return x\n") == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", 1),
        ("if x: return 1\n elif y: return 2", 3),
        ("for x in y:\n  while x: x -= 1", 3),
        ("try: pass\n except ValueError: pass\n except KeyError: pass", 3),
        ("def g():\n  if x: return 1", 2),
    ],
)
def test_decisions_are_counted(body: str, expected: int) -> None:
    assert complexity(ast.parse(f"def f():\n {body}").body[0]) == expected


def test_the_parts_that_look_at_plans_have_no_bound_of_lines(tmp_path: Path) -> None:
    for folder in ("explain", "plan"):
        (tmp_path / folder).mkdir()
    (tmp_path / "explain" / "text.py").write_text("x = 1\n" * 10_000)
    assert list(runtime_faults(tmp_path)) == []
    (tmp_path / "plan" / "plan.py").write_text(
        "x = 1\n" * (RUNTIME_LINES - 1)
        + "def make_plan(a, b, c, d, *, e): pass\n"
        + "import os\n" * 26
    )
    name = f"{tmp_path.name}/plan/plan.py"
    assert list(runtime_faults(tmp_path)) == [
        f"{name}: 26 import statements, more than 25",
        f"{name}: make_plan takes 5 arguments, more than 4",
    ]
    (tmp_path / "plan" / "more.py").write_text("x = 1\n")
    *_, last = runtime_faults(tmp_path)
    assert last.endswith(f"{RUNTIME_LINES + 1} lines of code, more than {RUNTIME_LINES}")


def test_few_modules_stand_flat(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"m{number}.py").write_text("x = 1\n")
    (fault,) = runtime_faults(tmp_path)
    assert "7 modules, more than 6: m0.py, m1.py" in fault


def test_the_main_package_has_a_bound_of_lines(tmp_path: Path) -> None:
    (tmp_path / "api.py").write_text("x = 1\n\n# text\n")
    assert list(main_package_faults(tmp_path, most=3)) == []
    assert list(main_package_faults(tmp_path, most=2)) == [
        f"{tmp_path.name}/: 3 lines, more than 2"
    ]
