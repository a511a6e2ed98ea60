"""The runner of the test suites of libraries."""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def libraries():
    spec = importlib.util.spec_from_file_location("libraries", TOOLS / "libraries.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def out(tmp_path, libraries):
    """Return a library of two files, one of which ends its process in the middle."""
    tests = {
        "test_plain.py": (
            "import sys\n"
            "import pytest\n"
            "def test_both(): pass\n"
            "def test_neither(): assert False\n"
            "@pytest.mark.parametrize('x', range(6))\n"
            "def test_one_side(x): assert x or 'reference' in __file__\n"
        ),
        "test_crash.py": (
            "import os\n"
            "def test_before(): pass\n"
            "def test_crash():\n"
            "    if 'ours' in __file__: os._exit(3)\n"
        ),
    }
    for side in ("reference", "ours"):
        folder = tmp_path / f"sources-{side}" / "small" / "tests"
        folder.mkdir(parents=True)
        for name, text in tests.items():
            (folder / name).write_text(text)
    return tmp_path


def options(out, **more):
    same = {"oracle": sys.executable, "python": sys.executable, "every": 1, "most": 40}
    bounds = {"limit": 60, "total": 120, "file": None, "only_reference": False, "first": 0}
    return types.SimpleNamespace(out=str(out), **{**same, **bounds, **more})


LIBRARY = {"name": "small", "repository": "a/b", "commit": "c", "tests": "tests/test_*.py"}


def test_only_methods_that_pass_on_the_reference_count(libraries, out):
    given = options(out)
    assert libraries.test_files(LIBRARY, given) == ["tests/test_crash.py", "tests/test_plain.py"]
    row = libraries.compare(LIBRARY, "tests/test_plain.py", given)
    assert (row["reference"], row["passed"]) == (7, 6)
    assert list(row["failures"]) == ["test_one_side[0]"]
    assert "assert (0 or" in row["failures"]["test_one_side[0]"]


def test_a_crash_loses_only_the_method_that_crashes(libraries, out, capsys):
    row = libraries.compare(LIBRARY, "tests/test_crash.py", options(out))
    assert (row["reference"], row["passed"]) == (2, 1)
    assert "status 3" in row["failures"]["test_crash"]
    assert not libraries.report([row], 98.0)
    assert "small                      1 of     2   50.00 %" in capsys.readouterr().out


def test_the_reference_is_run_once(libraries, out):
    given = options(out, only_reference=True)
    first = libraries.reference(LIBRARY, "tests/test_crash.py", given)
    os.remove(out / "sources-reference" / "small" / "tests" / "test_crash.py")
    assert libraries.reference(LIBRARY, "tests/test_crash.py", given) == first


def test_every_library_has_a_repository_a_commit_and_tests(libraries):
    rows = libraries.read_table(TOOLS / "libraries.tsv")
    assert len({row["name"] for row in rows}) == len(rows) >= 10
    assert all(len(row["commit"]) == 40 and "/" in row["repository"] for row in rows)
