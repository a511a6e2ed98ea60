"""The syntax tree of a function is found in its file."""

from __future__ import annotations

import ast
import functools
import sys

import pytest

from stillflow.autograph.source import function_node


def _text(function):
    return ast.unparse(function_node(function))


def test_a_function_with_decorators():
    @functools.lru_cache(
        maxsize=1,
    )
    def f(x):
        return x

    assert _text(f.__wrapped__).endswith("return x")


def test_functions_of_one_name_are_told_apart():
    found = []
    for _ in range(1):

        def f(): return 1  # fmt: skip

        found.append(f)

        def f(): return 2  # fmt: skip

        found.append(f)
    assert [_text(f).split()[-1] for f in found] == ["1", "2"]


def test_a_lambda_in_the_middle_of_a_statement():
    pair = sorted([3, 1], key=lambda v: -v), (lambda u, *v: u)
    assert _text(pair[1]) == "lambda u, *v: u"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code holds no columns")
def test_lambdas_of_one_signature_in_one_line():
    f, g = (lambda x: x + 1), (lambda x: lambda x: x + 2)
    assert _text(f) == "lambda x: x + 1"
    assert _text(g) == "lambda x: lambda x: x + 2"
    assert _text(g(1)) == "lambda x: x + 2"


def test_a_change_of_the_tree_is_a_change_of_a_copy():
    def f():
        return 1

    function_node(f).body.clear()
    assert _text(f).endswith("return 1")


def test_code_without_a_file_is_refused():
    names = {}
    exec(compile("def f(): pass", "<nowhere>", "exec"), names)
    with pytest.raises(ValueError, match="not available"):
        function_node(names["f"])


def test_a_file_that_has_changed_is_refused():
    def f():
        return 1

    moved = type(f)(f.__code__.replace(co_firstlineno=1), {})
    with pytest.raises(ValueError, match="is not that of"):
        function_node(moved)
