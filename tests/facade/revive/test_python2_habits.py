"""Lines that Python 2 took for something else."""

from __future__ import annotations

import ast

import pytest

from stillflow.facade.revive.python2_habits import habits


def reasons(source: str) -> list[str]:
    return [habit.reason for habit in habits(ast.parse(source))]


@pytest.mark.parametrize("source", [
    "map(f, x)[0]",
    "a = map(f, x)\nprint(a[1:])",
    "len(zip(x, y))",
    "a = filter(None, x)\na.append(1)",
    "keys = d.keys()\nkeys.sort()",
    "d.items()[0]",
    "range(3) + [1]",
    "numbers = range(9)\nrandom.shuffle(numbers)",
    "numbers = range(9)\nnumbers[0] = 1",
    "np.array(map(f, x))",
    "np.mean(d.values())",
    "pairs = zip(x, y)\nfor epoch in range(9):\n    for a, b in pairs:\n        pass",
    "def f():\n    a = map(g, x)\n    return sum(a) / max(a)",
])  # fmt: skip
def test_lists(source: str) -> None:
    assert len(reasons(source)) == 1
    assert reasons(source)[0].endswith("gave a list")


@pytest.mark.parametrize("source", [
    "range(n / 2)",
    "half = len(x) / 2\nfor i in range(half):\n    pass",
    "x[:n / 2]",
    "[0] * (n / 2)",
])  # fmt: skip
def test_quotients(source: str) -> None:
    assert reasons(source) == ["/ gave a whole number"]
    assert reasons("from __future__ import division\n" + source) == []


def test_functions_that_compare() -> None:
    expected = ["lists were sorted by functions of two arguments"]
    assert reasons("x.sort(lambda a, b: b - a)") == expected
    assert reasons("sorted(x, cmp=compare)") == expected
    assert reasons("sorted(x, key=lambda a: -a)") == []


@pytest.mark.parametrize("source", [
    "a = list(map(f, x))\na[0]",
    "for a, b in zip(x, y):\n    pass",
    "a = range(9)\na[3], len(a)",
    "pairs = zip(x, y)\nfirst = next(pairs)\nsecond = next(pairs)",
    "from six.moves import map\nmap(f, x)[0]",
    "def map(*args):\n    return []\nmap(f, x)[0]",
    "pairs = zip(x, y)\nif a:\n    b = list(pairs)\nelse:\n    b = set(pairs)",
    "def f(pairs):\n    total = sum(pairs)\n    pairs = zip(x, y)\n    return pairs",
    "op.values()[0]",
    "range(int(n / 2))",
    "half = n / 2.0\nx[int(half)]",
    "len(d.keys())",
    "a: int = 3\nmap(f, x)[0]",
])  # fmt: skip
def test_python_3(source: str) -> None:
    assert reasons(source) == []


def test_the_launcher_offers_the_translation_once(launcher):
    program = """
        import numpy as np
        import beside
        numbers = map(int, ["3", "4"])
        print(np.sum(list(numbers)))
        print(np.sum(list(numbers)))
        """
    launcher.write("beside.py", "import numpy as np\nnames = {}.keys()\nnames.sort\n")
    launcher.write("beside.py", "import numpy as np\ndef f(d):\n    return d.keys()[0]\n")
    out, said = launcher.program(program)
    assert out == "7\n0.0\n"
    assert said.count("--python2") == 1
    assert "program.py:6: map() gave a list in Python 2" in said
    done = launcher.run("--python2", "program.py")
    assert done.stdout == "7\n7\n"
    assert "gave a list" not in done.stderr
