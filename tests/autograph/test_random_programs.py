"""Functions made at random give the same converted, with Python's values and with tensors."""

from __future__ import annotations

import linecache
import random
from types import SimpleNamespace

import pytest

import stillflow as tf

_NAMES = ["a", "b", "c", "d"]
_REFUSED = "must also be returned"  # by TensorFlow, for tensors


class _Writer:
    """Writer of a function of statements over four numbers."""

    def __init__(self, seed: int, staged: bool) -> None:
        self.random, self.staged = random.Random(seed), staged
        self.lines = ["def f(a, b, zero):", "    c = zero + 1", "    d = zero + 2"]
        self.counters = 0
        self.block(1, 4, in_loop=False)
        self.line(1, "return a * 1000 + b * 100 + c * 10 + d")

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def name(self) -> str:
        return self.random.choice(_NAMES)

    def number(self) -> str:
        kind = self.random.random()
        if kind < 0.5:
            return self.name()
        if kind < 0.7:
            return str(self.random.randint(0, 3))
        return f"({self.number()} {self.random.choice('+-')} {self.number()})"

    def test(self) -> str:
        test = f"{self.number()} {self.random.choice(['<', '>', '<=', '>='])} {self.number()}"
        kind = self.random.choice(["", "", "", "", "not", "and", "or"])
        return (
            f"(not {test})" if kind == "not" else f"({test} {kind} {self.test()})" if kind else test
        )

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def inside(self, header: str, indent: int, depth: int, in_loop: bool) -> None:
        self.line(indent, header)
        self.block(indent + 1, depth - 1, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        kinds = ["assign", "assign", "if", "if", "while", "for", "jump", "return", "choose"]
        kind = self.random.choice(kinds if self.staged else [*kinds, "try"]) if depth else "assign"
        if kind in ("if", "while", "for", "try"):
            getattr(self, f"_{kind}")(indent, depth, in_loop)
        elif kind == "jump" and in_loop:
            self.line(indent, self.random.choice(["break", "continue"]))
        elif kind == "return" and not (self.staged and in_loop):
            self.line(indent, f"return {self.number()}")
        elif kind == "choose":
            value = f"{self.number()} if {self.test()} else {self.number()}"
            self.line(indent, f"{self.name()} = {value}")
        else:
            self.line(indent, f"{self.name()} = {self.number()} % 7")

    def _if(self, indent: int, depth: int, in_loop: bool) -> None:
        self.inside(f"if {self.test()}:", indent, depth, in_loop)
        if self.random.random() < 0.3:
            self.inside(f"elif {self.test()}:", indent, depth, in_loop)
        if self.random.random() < 0.5:
            self.inside("else:", indent, depth, in_loop)

    def _while(self, indent: int, depth: int, in_loop: bool) -> None:
        self.counters += 1
        count = f"k{self.counters}"
        self.line(indent, f"{count} = zero")
        self.line(indent, f"while {count} < {self.random.randint(1, 4)} and {self.test()}:")
        self.line(indent + 1, f"{count} += 1")
        self.block(indent + 1, depth - 1, in_loop=True)
        self._else(indent, depth, in_loop)

    def _for(self, indent: int, depth: int, in_loop: bool) -> None:
        self.counters += 1
        target = self.random.choice([f"i{self.counters}", self.name()])
        header = f"for {target} in tf.range({self.random.randint(0, 4)}):"
        self.inside(header, indent, depth, in_loop=True)
        self._else(indent, depth, in_loop)

    def _else(self, indent: int, depth: int, in_loop: bool) -> None:
        if self.random.random() < 0.2:
            self.inside("else:", indent, depth, in_loop)

    def _try(self, indent: int, depth: int, in_loop: bool) -> None:
        self.inside("try:", indent, depth, in_loop)
        self.line(indent + 1, f"if {self.test()}: raise ValueError")
        self.inside("except ValueError:", indent, depth, in_loop)
        if self.random.random() < 0.4:
            self.line(indent, "finally:")
            self.line(indent + 1, f"{self.name()} = {self.number()} % 5")


def _function(seed: int, staged: bool):
    lines = [f"{line}\n" for line in _Writer(seed, staged).lines]
    filename = f"<program {seed} {staged}>"
    linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)
    namespace = {"tf": SimpleNamespace(range=range)}
    exec(compile("".join(lines), filename, "exec"), namespace)
    return namespace["f"]


_ARGUMENTS = [(0, 0), (3, 1), (2, 5)]


@pytest.mark.parametrize("seed", range(150))
def test_numbers(seed):
    f = _function(seed, staged=False)
    converted = tf.autograph.to_graph(f)
    for a, b in _ARGUMENTS:
        assert converted(a, b, 0) == f(a, b, 0)


@pytest.mark.parametrize("seed", range(12))
def test_tensors(seed):
    f = _function(seed, staged=True)
    expected = [f(a, b, 0) for a, b in _ARGUMENTS]
    f.__globals__["tf"] = tf
    with tf.Graph().as_default():
        a, b, zero = (tf.placeholder(tf.int32, []) for _ in range(3))
        try:
            y = tf.convert_to_tensor(tf.autograph.to_graph(f)(a, b, zero))
        except ValueError as error:
            assert _REFUSED in str(error)
            return
        with tf.Session() as session:
            values = [session.run(y, {a: m, b: n, zero: 0}) for m, n in _ARGUMENTS]
    assert values == expected
