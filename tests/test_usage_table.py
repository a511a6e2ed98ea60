"""The symbols of the area `core` that programs use: there, and called as TensorFlow's are."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def coverage_table() -> ModuleType:
    sys.path.insert(0, str(TESTS.parent / "tools"))
    try:
        return importlib.import_module("coverage_table")
    finally:
        del sys.path[0]


MEASURE = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
import coverage_table, stillflow
warnings.simplefilter("ignore")  # deprecated names warn when they are looked up
facts = json.loads((coverage_table.FACTS / "signatures.json").read_text())
core = {symbol: row for symbol, row in facts.items() if row[0] == "core"}
print("\\n".join(coverage_table.gap_lines(coverage_table.measure(stillflow, core)["core"])))
"""


def test_the_gaps_are_exactly_those_on_record(coverage_table) -> None:
    # In a process of its own: what was imported before must not count.
    command = [sys.executable, "-c", MEASURE, str(TESTS.parent / "tools")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = set(done.stdout.splitlines())
    recorded = {
        line for line in coverage_table.GAPS.read_text().splitlines() if not line.startswith("#")
    }
    assert not found - recorded, "these worked, or worked otherwise; a change broke them"
    assert not recorded - found, "these are filled: tools/coverage_table.py --write-gaps"


@pytest.mark.parametrize(
    ("recorded", "found", "same"),
    [
        ("function (x, name=None)", "function (x, name=None)", True),
        ("function (x, name=None)", "class (x, name=None)", True),
        ("function (x, name=None)", "function (x)", False),
        ("function (x, name=None)", "module", False),
        ("function (x, rate=0.1)", "function (x, rate=0.2)", False),
        ("class (*args, **kwargs)", "class (a)", True),
        ("class (*args, **kwargs)", "value 3", False),
        ("value 20", "value 20", True),
        ("value 20", "value 10", False),
        ("value <_ReuseMode>", "value <Reuse>", True),
        ("value tf.float32", "value tf.float64", False),
        ("module", "module", True),
    ],
)
def test_two_descriptions_are_compared(coverage_table, recorded, found, same) -> None:
    assert coverage_table.same(recorded, found) is same
