"""Arithmetic of NumPy's numbers, with the types of NumPy 1."""

from __future__ import annotations

import ast
import json
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.facade.revive import number_orders, number_types

from stillflow.facade import revive
from stillflow.facade.revive import comparisons, number_sources, promotion, sources

PRELUDE = """
import numpy as np
class Session:
    def run(self, fetches):
        return np.float32(0.1), np.float32(0.2)
session = Session()
"""


@pytest.fixture(autouse=True)
def old_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revive, "active", lambda: True)


def run(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(sources.compiled((PRELUDE + source).encode(), "program.py"), scope)
    return scope


@pytest.mark.filterwarnings("ignore")
def test_operands_give_the_types_that_numpy_1_gave() -> None:
    recorded = json.loads(Path(__file__).with_name("number_types.json").read_text())
    assert number_types.types(promotion.combine) == recorded


def test_comparisons_give_the_values_that_numpy_1_gave() -> None:
    def compared(function: Any, left: Any, right: Any) -> Any:
        equal = function.__name__ == "eq"
        return (comparisons.compared if equal else comparisons.ordered)(function, left, right)

    recorded = json.loads(Path(__file__).with_name("number_orders.json").read_text())
    assert str(number_orders.outcomes(compared)) == str(recorded)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("comparison", "value"), [
    ("1e99 > loss", True),
    ("loss < 1e99", True),
    ("-1e99 < loss <= 1e99", True),
    ("loss == 0.1", False),
    ("0.1 != loss != 0.2", True),
    ("(np.full(2, 0.1, 'f') >= np.float64(0.1)).all()", True),
    ("loss < 123456789012345678901234567890", True),
    ("max(1e99, loss) == 1e99 and max([loss, 0]) is loss", True),
    ("min(loss, 0.1) == 0.1 and min(loss, 1e99) is loss and min(1, 2) == 1", True),
])  # fmt: skip
def test_numbers_are_compared_as_doubles(comparison: str, value: bool) -> None:
    assert bool(run(f"loss, _ = session.run('')\nvalue = {comparison}")["value"]) is value


def test_sides_of_a_chain_are_evaluated_once() -> None:
    source = "def loss():\n    calls.append(1)\n    return np.float32(0.1)\ncalls = []\n"
    scope = run(source + "value = 0.0 < loss() < 1.0")
    assert scope["value"] and scope["calls"] == [1]


@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_the_type() -> None:
    bytes_ = np.array([1, 2], np.uint8)
    assert promotion.combine(np.subtract, bytes_, 300).tolist() == [65237, 65238]
    assert promotion.combine(np.add, np.uint8(200), 100) == 300
    for kind, wanted in ((np.int8, np.float32), (np.uint16, np.float32), (np.int32, np.float64)):
        assert type(promotion.combine(operator.truediv, kind(7), kind(2))) is wanted
    assert promotion.combine(operator.truediv, np.ones(2, np.int8), np.int8(2)).dtype == np.float64


@pytest.mark.parametrize("made", [
    "w = np.sqrt(2.0) * (2 * np.random.rand(3).astype(np.float32) - 1)",
    "limit = np.sqrt(2.0)\nw = np.ones(3, np.float32) / limit",
    "class A:\n    pass\na = A()\na.limit = np.log(2.0)\nw = np.ones(3, 'f') - -a.limit",
    "def limit():\n    return np.sqrt(2.0)\nw = limit() * np.ones(3, np.float32)",
    "for s in [np.sqrt(2.0)]:\n    w = s * np.ones(3, np.float32)",
    "from numpy import sqrt\nones = np.ones(3, np.float32)\nw = ones * (sqrt(2.0) if 1 else 2)",
])  # fmt: skip
def test_arrays_keep_their_type_beside_numbers(made: str) -> None:
    assert run(made)["w"].dtype == np.float32


@pytest.mark.parametrize("made", [
    "total = 0.0\n_, loss = session.run('x')\ntotal += loss",
    "loss = session.run('x')[1]\ntotal = loss * 1.0",
    "kept = {'k': 0.0}\nkept['k'] += session.run('x')[1]\ntotal = kept['k']",
    "losses = []\nlosses.append(session.run('x')[1])\ntotal = sum(losses)",
    "total = sum(loss for loss in session.run('x')[1:])",
    "for kind in [np.float32]:\n    total = kind(0.2) + 0.0",
    "x, = map(np.float32, [0.2])\ntotal = x + 0.0",
    "for f in [lambda x: x]:\n    total = f(session.run('x')[1]) + 0.0",
    "class A:\n    total = 0.0\na = A()\na.total += session.run('x')[1]\ntotal = a.total",
    "def scaled(loss, by):\n    return loss * by\ntotal = scaled(session.run('x')[1], 1.0)",
    """class A:
        def scaled(self, by, loss=0.0):
            return loss * by\ntotal = A().scaled(1.0, loss=session.run('x')[1])""",
])  # fmt: skip
def test_sums_of_losses_are_doubles(made: str) -> None:
    total = run(made)["total"]
    assert type(total) is np.float64
    assert total == float(np.float32(0.2))


def test_lists_of_indices_are_one_for_each_dimension() -> None:
    source = "a = np.arange(9).reshape(3, 3)\nrows, columns = [0, 1], np.array([1, 2])\n"
    scope = run(f"{source}found = a[[rows, columns]].tolist()\na[[rows, columns]] = -1\n"
                "flat = a[[0, 2]].tolist()\none = 1\nrow = a[[one]].tolist()")  # fmt: skip
    assert scope["found"] == [1, 5]
    assert scope["a"].tolist() == [[0, -1, 2], [3, 4, -1], [6, 7, 8]]
    assert (scope["flat"], scope["row"]) == ([[0, -1, 2], [6, 7, 8]], [[3, 4, -1]])


def test_arrays_are_still_changed_in_place() -> None:
    scope = run(
        "a = np.ones(2, np.float32)\nb = a\na *= np.float64(3)\na += session.run('')[0] * 0"
    )
    assert scope["a"] is scope["b"]
    assert scope["a"].dtype == np.float32
    assert scope["a"].tolist() == [3, 3]


def test_texts_lists_and_others_are_combined_as_ever() -> None:
    scope = run(
        "n = np.int64(2)\ntext = 'ab' * n\nmany = [0] * n\nline = '%d' % n\n"
        "day = np.datetime64('2018-01-01') + np.timedelta64(1, 'D') * 2\n"
        "whole = sum([[1], [2]], [])"
    )
    assert (scope["text"], scope["many"], scope["line"]) == ("abab", [0, 0], "2")
    assert str(scope["day"]) == "2018-01-03"
    assert scope["whole"] == [1, 2]


def test_a_program_of_python_2_keeps_its_division() -> None:
    scope = run("print 'x'\na = np.array([7]) / 2\nb = np.sqrt(4.0) / np.ones(1, np.float32)\n")
    assert scope["a"].tolist() == [3]
    assert scope["b"].dtype == np.float32


def test_code_without_numbers_of_numpy_is_left_alone() -> None:
    tree = ast.parse("import numpy as np\ndef f(a, b):\n    a += 1\n    return a * b + sum([1])\n")
    assert number_sources.rewritten(tree) is None


def test_errors_name_the_line_of_the_program() -> None:
    with pytest.raises(ValueError, match="broadcast") as caught:
        run("a = np.ones(2)\n\nb = (a *\n     np.ones(3))\n")
    lines = [entry.lineno for entry in caught.traceback if str(entry.path) == "program.py"]
    assert lines[-1] + 1 == PRELUDE.count("\n") + 3
