"""Arrays of one element, integers out of range, uneven lists and comparisons, as NumPy had them."""

from __future__ import annotations

import ast
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.facade.revive import old_arrays

from stillflow.facade import revive
from stillflow.facade.revive import (
    comparisons,
    number_sources,
    scalar_sources,
    scalars,
    sources,
)

RECORDED = json.loads(Path(__file__).with_name("old_arrays.json").read_text())
ONE, HALF = np.array([3]), np.array([[2.5]])


@pytest.fixture
def old_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy as it is from 2.4 on, as far as the rewriting of sources asks."""
    monkeypatch.setattr(revive, "active", lambda: True)
    for question in (scalars.needed, scalars.bounded, scalars.renamed, comparisons.needed):
        monkeypatch.setattr(f"{question.__module__}.{question.__name__}", lambda: True)


def rewritten(source: str) -> str:
    tree = ast.parse(source)
    made, _ = scalar_sources.rewritten(tree, number_sources.Values(tree))
    return ast.unparse(made).replace("__stillflow_", "").replace("__(", "(")


def strict(*args: Any, **options: Any) -> list[Any]:
    """Take numbers only, as functions of numbers do under NumPy 2.4."""
    for item in [*args, *options.values()]:
        if np.ndim(item):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return [float(item) for item in [*args, *options.values()]]


def test_statements_give_what_they_gave_under_tensorflow(launcher):
    out, said = launcher.program(old_arrays.program())
    found = json.loads(out[out.index("{") :])
    assert found == RECORDED
    assert len(found) == len(old_arrays.STATEMENTS.strip().split("\n"))
    assert "logged 3 2.5" in out
    if scalars.needed():
        assert said.count("arrays of one element are taken for numbers here") == 1


@pytest.mark.skipif(not scalars.needed(), reason="this NumPy takes arrays for numbers itself")
def test_without_the_old_world_numpy_raises(launcher):
    launcher.write("program.py", "import numpy as np\nprint(int(np.array([3])))\n")
    done = launcher.run("--no-revive", "program.py")
    assert done.returncode == 1
    assert "TypeError: only 0-dimensional arrays" in done.stderr


def test_errors_end_in_the_line_of_the_program(launcher):
    launcher.write("program.py", "import numpy as np\nx = np.zeros(3)\nx[0] = int(np.ones(2))\n")
    done = launcher.run("program.py")
    assert done.returncode == 1
    files = [line for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    assert len(files) == 1
    assert "program.py" in files[0] and "line 3" in files[0]


def test_unittest_takes_arrays_of_different_shapes_for_unequal(launcher):
    out, _ = launcher.program("""
        import unittest
        import numpy as np
        class Test(unittest.TestCase):
            def test(self):
                self.assertNotEqual(np.ones(2), ())
                self.assertFalse(np.array([]))
                self.assertTrue(np.array([1]))
                for first, second in [(np.ones(2), np.ones(3)), (np.array([]), ())]:
                    try:
                        self.assertEqual(first, second)
                        print("equal")
                    except AssertionError as error:
                        print(error)
        unittest.main(argv=["x"], exit=False)
        """)
    assert out.splitlines() == [
        "array([1., 1.]) != array([1., 1., 1.])",
        "array([], dtype=float64) != ()",
    ]


@pytest.mark.parametrize("call", [scalars.call_one, scalars.call_all])
def test_functions_of_numbers_get_the_element(call: Any) -> None:
    assert call(strict, ONE) == [3.0]
    assert call(strict, HALF) == [2.5]
    assert call(strict, 7) == [7.0]
    for wrong in (np.ones(2), np.array([]), [1.0, 2.0], "a"):
        with pytest.raises((TypeError, ValueError)):
            call(strict, wrong)


def test_functions_get_all_elements_at_once() -> None:
    assert scalars.call_all(strict, ONE, 2, more=HALF) == [3.0, 2.0, 2.5]

    def packing(form: str, value: Any) -> bytes:
        if np.ndim(value):
            raise struct.error("required argument is not a float")
        return struct.pack(form, value)

    assert scalars.call_all(packing, "<f", HALF) == struct.pack("<f", 2.5)
    with pytest.raises(TypeError, match="0-dimensional"):
        scalars.call_all(strict, ONE, np.ones(2))


def test_only_conversions_to_numbers_take_the_element() -> None:
    made = scalars.formattable("%d %s %5.1f %% %x", (ONE, ONE, HALF, ONE))
    assert [np.ndim(item) for item in made] == [0, 1, 0, 1]
    named = scalars.formattable("%(a)d %(b)s", {"a": ONE, "b": ONE})
    assert {name: np.ndim(item) for name, item in named.items()} == {"a": 0, "b": 1}
    assert scalars.formattable(b"%d", ONE)[0] == 3
    assert scalars.formattable("%*d", (4, ONE))[1] == 3
    for template, values in (("%d", 3), ("%s", ONE), ("%d %d", (1,)), (7, ONE), ("%d", np.ones(2))):
        assert scalars.formattable(template, values) is None


def test_lists_are_levelled() -> None:
    assert scalars.level([ONE, 1.0]) == [3, 1.0]
    assert scalars.level([[ONE, 1.0], [2.0, HALF]]) == [[3, 1.0], [2.0, 2.5]]
    assert scalars.level([HALF, ONE])[0].tolist() == [2.5]
    for even in ([1, 2], [ONE, ONE], [[1], [2]], [np.ones(2), 1.0]):
        assert scalars.level(even) is even


@pytest.mark.usefixtures("old_world")
@pytest.mark.parametrize("source, expected", [
    ("int(x)", "to_int(x)"),
    ("float(x * 2)", "to_float(x * 2)"),
    ("map(float, x)", "map(stillflow_to_float__, x)"),
    ("import math\nmath.sqrt(x)", "import math\ncall_one(math.sqrt, x)"),
    ("from math import exp as e\ne(x)", "from math import exp as e\ncall_one(e, x)"),
    ("import math\nmath.pow(x, 2)", "import math\ncall_all(math.pow, x, 2)"),
    ("'%d' % x", "percent('%d', x)"),
    ("t = 'a %f'\nt % x", "t = 'a %f'\npercent(t, x)"),
    ("import numpy as n\nn.uint8(y)", "import numpy as n\ntyped(n.uint8, y)"),
])  # fmt: skip
def test_what_is_rewritten(source: str, expected: str) -> None:
    assert rewritten(source).replace("__stillflow", "stillflow") == expected.replace(
        "stillflow_to_float__", "to_float__"
    )


@pytest.mark.usefixtures("old_world")
@pytest.mark.parametrize("source", [
    "int('3') + int(len(x)) + int(line.split()[0]) + int(x.shape[0])",
    "from builtins import int\nint(x)",
    "def f(float, y):\n    return float(y)",
    "'%s' % x",
    "'%d' % 3",
    "a % b",
    "math.sqrt(x)",
    "d['key'] = x",
    "x[0] = 1.5",
    "x[0] = 7",
    "a == b",
    "while a:\n    pass",
    "import numpy as np\nnp.float32(0)\nnp.uint8(255 - 200) if 0 else 1\nx = np.ones(2)\nx == 0",
])  # fmt: skip
def test_what_is_left_alone(source: str) -> None:
    assert "np.uint8" in source or rewritten(source) == ast.unparse(ast.parse(source))


@pytest.mark.usefixtures("old_world")
def test_a_store_evaluates_its_parts_once_and_in_order() -> None:
    source = """
import numpy as np
log = []
def say(name, value):
    log.append(name)
    return value
store = np.zeros((2, 2))
store[say("row", 0), say("column", 1)] = say("value", np.array([5.0]))
class Box:
    def where(self):
        log.append("box")
        return store
box = Box()
at = [1, 0]
store[at[0]] = say("again", np.array([7.0]))
other = {}
other[say("key", "k")] = say("last", 1)
"""
    scope: dict[str, Any] = {}
    exec(sources.compiled(source.encode(), "program.py"), scope)
    assert scope["log"] == ["value", "row", "column", "again", "last", "key"]
    assert scope["store"].tolist() == [[0.0, 5.0], [7.0, 7.0]]
    assert scope["other"] == {"k": 1}


@pytest.mark.usefixtures("old_world")
def test_a_store_that_fails_leaves_the_first_error() -> None:
    source = "import numpy as np\nx = np.zeros(2)\n\nx[0] = np.zeros(3)\n"
    with pytest.raises(ValueError, match="setting an array element with a sequence") as caught:
        exec(sources.compiled(source.encode(), "program.py"), {})
    lines = [entry.lineno for entry in caught.traceback if str(entry.path) == "program.py"]
    assert lines == [3]


def test_numbers_are_stored_for_arrays() -> None:
    x = np.zeros(3, np.uint8)
    assert scalars.stored(x, 0, np.array([5]))
    assert scalars.stored(x, slice(1, 3), [np.array([6]), 7])
    assert x.tolist() == [5, 6, 7]
    for target, index, value in (({}, 0, ONE), (x, 0, np.ones(2)), (x, 9, ONE), ([0], 0, ONE)):
        assert not scalars.stored(target, index, value)


@pytest.mark.filterwarnings("ignore:The truth value of an empty array")
def test_arrays_that_do_not_fit_are_unequal() -> None:
    import operator

    def failing(left: Any, right: Any) -> bool:
        raise ValueError("operands could not be broadcast together with shapes (2,) (0,) ")

    assert comparisons.compared(operator.eq, 1, 1) is True
    assert comparisons.compared(failing, 1, 1) is False
    with pytest.raises(ValueError, match="other"):
        comparisons.compared(lambda left, right: int("other"), 1, 1)
    assert comparisons.truth(np.array([])) is False
    with pytest.raises(ValueError, match="ambiguous"):
        comparisons.truth(np.ones(2))


@pytest.mark.usefixtures("old_world")
def test_types_that_numpy_had_of_python() -> None:
    source = """
import json
import numpy as np
import numpy.random as random
found = [isinstance(True, np.bool), np.bool is bool, np.long is int, np.bool(3) + np.bool(5),
         json.dumps(np.bool(1)), isinstance(3, np.long), np.zeros(1, np.bool).dtype.name,
         np.bool_ is bool, np.array([1], dtype=np.long).dtype.kind]
"""
    scope: dict[str, Any] = {}
    exec(sources.compiled(source.encode(), "program.py"), scope)
    # As NumPy 1.18 has them.
    assert scope["found"] == [True, True, True, 2, "true", True, "bool", False, "i"]


def test_other_names_of_numpy_stay() -> None:
    source = "import numpy as np\nclass bag: bool = 3\nfound = [bag.bool, np.float64]\n"
    scope: dict[str, Any] = {}
    exec(sources.compiled(source.encode(), "program.py"), scope)
    assert scope["found"] == [3, np.float64]
