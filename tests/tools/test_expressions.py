"""Expressions of a command line: arrays come out, nothing else of Python runs."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.tools.expressions import LARGEST, evaluate
from stillflow.tools.saved_model_inputs import (
    load_inputs_from_input_arg_string,
    preprocess_input_exprs_arg_string,
)


@pytest.mark.parametrize(
    "text",
    [
        "3", "-2.5", "[1, 2.5, 'a']", "{'a': (1, 2)}", "np.ones((2, 3))", "np.zeros(3) + 1",
        "np.arange(6).reshape(2, 3) * 2", "np.array([[1, 2], [3, 4]], dtype=np.float32)[0:1]",
        "np.linspace(0, 1, 5).astype(np.float16)", "2 ** 10", "np.full([2], np.pi)", "len('abc')",
        "np.tile([1, 2], 2).tolist()", "numpy.eye(2)", "[0] * 3", "7 % 4 - 2 // 1", "not 0",
        "list(range(3))", "np.expand_dims(np.ones(2), 0).T", "~1", "np.concatenate([[1], [2]])",
    ],
)  # fmt: skip
def test_values_are_those_of_python(text: str) -> None:
    expected = eval(text, {"np": np, "numpy": np})
    found = evaluate(text)
    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("make", ["rand(2, 3)", "randint(5, size=4)", "normal(0, 1, [2])"])
def test_random_numbers(make: str) -> None:
    assert evaluate(f"np.random.{make}").shape == eval(f"np.random.{make}").shape


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('__import__("os").system("true")', "names '__import__'"),
        ("().__class__.__bases__", "attribute '__class__'"),
        ("np.load('x')", "np.load is not a function"),
        ("np.random.mtrand", "np.random.mtrand is not"),
        ("np.ones(3).tofile", "attribute 'tofile'"),
        ("np.ones(3).ctypes", "attribute 'ctypes'"),
        ("open('/etc/passwd')", "names 'open'"),
        ("[i for i in range(3)]", "holds a ListComp"),
        ("lambda: 1", "holds a Lambda"),
        ("f'{1}'", "holds a JoinedStr"),
        ("(x := 1)", "holds a NamedExpr"),
        ("1 << 10", "holds a LShift"),
        ("dict(**{})", "names 'dict'"),
        ("'%1000000000d' % 3", "formats a text"),
        ("(1", "no expression"),
        ("1 / 0", "has no value"),
        ("np.ones(-1)", "has no value"),
    ],
)
def test_other_python_is_an_error(text: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        evaluate(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9", "2**100000", "np.zeros([2**20, 2**20])", "[0] * 10**10", "'a' * 10**12",
        "np.arange(1e12)", "np.tile(np.ones(1000), 10**7)", "range(10**12)", "np.eye(10**6)",
        "np.repeat([1], 10**12)", "np.linspace(0, 1, 10**11)", "np.random.permutation(10**12)",
        "np.meshgrid(np.ones(10**5), np.ones(10**5))", "np.full((10**5, 10**5), 1.)",
        "np.array([[0] * 10**5] * 10**5)", "np.ones((10**5, 1)) * np.ones((1, 10**5))",
        "np.ones((10**5, 1)) ** np.ones((1, 10**5))", "np.random.rand(10**6, 10**6)",
    ],
)  # fmt: skip
def test_sizes_are_looked_at_first(text: str) -> None:
    with pytest.raises(ValueError, match=r"the limit is (4096 bits|134217728)"):
        evaluate(text)
    assert LARGEST == 134217728


def test_depth_and_length_are_bounded() -> None:
    with pytest.raises(ValueError, match=r"nested too deeply|no expression"):
        evaluate("(" * 3000 + "1" + ")" * 3000)
    with pytest.raises(ValueError, match="nested too deeply"):
        evaluate("-" * 100_000 + "1")
    with pytest.raises(ValueError, match="the limit is 1048576"):
        evaluate("1" * 2_000_000)


def test_any_python_takes_a_flag() -> None:
    text = "x=[i * 2 for i in (1, 2)]"
    with pytest.raises(RuntimeError, match="--allow_python evaluates any Python"):
        preprocess_input_exprs_arg_string(text)
    assert preprocess_input_exprs_arg_string(text, allow_python=True) == {"x": [2, 4]}
    found = load_inputs_from_input_arg_string("", text, "", allow_python=True)
    assert found == {"x": [2, 4]}
