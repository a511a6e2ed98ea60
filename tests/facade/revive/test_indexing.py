"""Programs written for a NumPy that took lists of slices for tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stillflow.facade import revive
from stillflow.facade.revive import indexing, sources


@pytest.fixture(autouse=True)
def old_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revive, "active", lambda: True)


def run(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"np": np}
    exec(sources.compiled(source.encode(), "program.py"), scope)
    return scope


@pytest.mark.parametrize("made", [
    "index = [slice(None)] * 2\nindex[1] = slice(0, 1)",
    "index = []\nindex.append(slice(None))\nindex.append(slice(0, 1))",
    "index = [slice(0, size) for size in (2, 1)]",
    "index = [None, None]\nindex[0] = slice(None)\nindex[1] = slice(0, 1)",
    "index = [slice(None)] + [slice(0, 1)]",
    "index = [slice(0, 1) if i else slice(None) for i in range(2)]",
])  # fmt: skip
def test_a_list_of_slices_is_a_tuple(made: str) -> None:
    scope = run(f"a = np.arange(4).reshape(2, 2)\n{made}\nb = a[index].copy()\na[index] = 7\n")
    assert scope["b"].tolist() == [[0], [2]]
    assert scope["a"].tolist() == [[7, 1], [7, 3]]


def test_functions_and_literals_are_repaired_too() -> None:
    scope = run("def f(a):\n    i = [slice(1, 2), 0]\n    return a[i], a[[slice(None), 1]]\n")
    first, second = scope["f"](np.arange(4).reshape(2, 2))
    assert first.tolist() == [2]
    assert second.tolist() == [1, 3]


def test_other_indices_stay_as_they_are() -> None:
    source = "i = [slice(1)]\ni = [1, 0]\na = np.arange(3)[i]\nd = {'k': 1}\ni = 'k'\nv = d[i]\n"
    scope = run(source)
    assert scope["a"].tolist() == [1, 0]
    assert scope["v"] == 1


def test_ordinary_code_is_left_alone() -> None:
    import ast

    tree = ast.parse("x = [1, 2]\ny = x[0]\nz = slice(1)\nw = a[z]\n")
    assert indexing.rewritten(tree) is None


@pytest.mark.parametrize("used", [
    "index = maker()\na[index] += 1",
    "for index in windows():\n    a[index] += 1",
    "window = Windows()\nindex = next(window)\na[index] += 1",
    "for index in Windows():\n    a[index] += 1",
    "kept = []\nkept.append(maker())\nfor number, index in enumerate(kept):\n    a[index] += 1",
    "a += [a[index] for index in windows()][0] * 0\nfor i in range(2):\n    a[i][0] += 1",
])  # fmt: skip
def test_lists_of_slices_are_handed_on(used: str) -> None:
    made = """
def maker():
    index = [slice(None)] * 2
    index[1] = slice(0, 1)
    return index

def windows():
    yield [slice(None), slice(0, 1)]

class Windows:
    done = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.done:
            raise StopIteration
        self.done = True
        index = maker()
        return index

a = np.zeros((2, 2))
"""
    assert run(made + used)["a"].tolist() == [[1, 0], [1, 0]]
