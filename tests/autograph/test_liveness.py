"""Liveness of variables after each statement."""

from __future__ import annotations

import ast
import textwrap

from stillflow.autograph.liveness import Liveness
from stillflow.autograph.names import Names


def _live(code, at_end=()):
    """Return the variables live into and out of the last statement of a kind in code."""
    body = ast.parse(textwrap.dedent(code)).body
    liveness = Liveness(body, Names(body).bound, at_end)
    node = [
        n for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.If | ast.While | ast.For)
    ]
    return set(liveness.into(node[-1])), set(liveness.out_of(node[-1]))


def test_what_is_read_later_is_live():
    code = """
    if a:
        b = c
    b = b + 1
    d = b
    """
    assert _live(code) == ({"a", "b", "c"}, {"b"})


def test_what_is_assigned_before_it_is_read_is_not():
    code = """
    if a:
        b = c
    else:
        b = 1
    b = 2
    """
    assert _live(code) == ({"a", "c"}, set())


def test_the_next_iteration_reads_too():
    code = """
    while a:
        b = b + c
        t = b
    """
    assert _live(code) == ({"a", "b", "c"}, set())


def test_a_target_is_assigned_by_the_loop():
    code = """
    for i in x:
        y = i
    y
    """
    assert _live(code) == ({"x", "y"}, {"y"})


def test_a_local_function_reads_where_it_is_named():
    code = """
    def f():
        return a
    g = lambda: f() + b
    if c:
        a = b = 1
    g()
    """
    assert _live(code) == ({"a", "b", "c", "f", "g"}, {"a", "b", "f", "g"})


def test_handlers_read_what_was_assigned_before_the_error():
    code = """
    try:
        a = f()
        if b:
            a = g()
        a = 3
    except ValueError:
        a
    """
    assert "a" in _live(code)[1]


def test_code_that_reads_variables_by_name_reads_them_all():
    code = """
    if a:
        b = 1
    eval("b")
    """
    assert "b" in _live(code)[1]


def test_variables_of_others_are_read_at_the_end():
    assert "b" in _live("if a: b = 1", at_end=["b"])[1]


def test_names_of_a_piece_of_code():
    names = Names(
        ast.parse(
            textwrap.dedent("""
            import os.path, sys as system
            a.b["c"] = d
            a[i + 1] = [x for x in y if (last := x)]
            with e as (f, g):
                h += 1
            def inner(p, q=r):
                nonlocal n
                return p + s
            """)
        )
    )
    assert set(names.bound) == {"os", "system", "last", "f", "g", "h", "inner"}
    assert names.read >= {"a", "d", "i", "y", "e", "h", "r", "s", "n"}
    assert not names.read & {"p", "q", "x"}
    assert names.composites == {"a.b['c']": {"a"}}
