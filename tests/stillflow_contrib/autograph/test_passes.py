"""Passes over trees of gast: their code is the one that TensorFlow 1.15.5 with gast 0.2.2 made.

TensorFlow also writes `break_,` and `do_return,` as statements of their own, which do nothing.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from stillflow.autograph.options import ConversionOptions
from stillflow.autograph.transformer import EntityInfo

gast = pytest.importorskip("gast", minversion="0.6")

from stillflow_contrib.autograph import (  # noqa: E402
    anf,
    annotations,
    passes,
    qualified_names,
    templates,
    trees,
)


def jumping(x, y):
    if x > g(y):  # noqa: F821
        return h(x - 1, y + 2)  # noqa: F821
    z = list(map(str, range(3)))[0:y]
    del y.q
    u.v[w(3)], (p, r) = {1: g(2), 3: x}[x.e(*f(1), k=[2 + x])]  # noqa: F821, RUF059
    for i in z:
        if i > k(x):  # noqa: F821
            break
        if i < 3:
            continue
        y += i
    return y[0].b + x, (y, -x)


ONE_RETURN = """
def jumping(x, y):
  if x > g(y):
    do_return = True
    retval_ = h(x - 1, y + 2)
  else:
    z = list(map(str, range(3)))[0:y]
    del y.q
    u.v[w(3)], (p, r) = {1: g(2), 3: x}[x.e(*f(1), k=[2 + x])]
    break_ = False
    for i in z:
      continue_ = False
      if i > k(x):
        break_ = True
        continue_ = True
      if ag__.not_(continue_):
        if i < 3:
          continue_ = True
        if ag__.not_(continue_):
          y += i
    do_return = True
    retval_ = y[0].b + x, (y, -x)
  return retval_
"""
NAMED = """
def jumping(x, y):
  tmp_1001 = g(y)
  tmp_1002 = x > tmp_1001
  if tmp_1002:
    do_return = True
    tmp_1003 = x - 1
    tmp_1004 = y + 2
    retval_ = h(tmp_1003, tmp_1004)
  else:
    tmp_1005 = range(3)
    tmp_1006 = map(str, tmp_1005)
    tmp_1007 = list(tmp_1006)
    z = tmp_1007[0:y]
    del y.q
    tmp_1008 = u.v
    tmp_1009 = w(3)
    tmp_1010 = g(2)
    tmp_1011 = 2 + x
    tmp_1012 = x.e
    tmp_1013 = f(1)
    tmp_1014 = [tmp_1011]
    tmp_1015 = {1: tmp_1010, 3: x}
    tmp_1016 = tmp_1012(*tmp_1013, k=tmp_1014)
    tmp_1008[tmp_1009], (p, r) = tmp_1015[tmp_1016]
    break_ = False
    for i in z:
      continue_ = False
      tmp_1017 = k(x)
      tmp_1018 = i > tmp_1017
      if tmp_1018:
        break_ = True
        continue_ = True
      tmp_1019 = ag__.not_
      tmp_1020 = tmp_1019(continue_)
      if tmp_1020:
        tmp_1021 = i < 3
        if tmp_1021:
          continue_ = True
        tmp_1022 = ag__.not_
        tmp_1023 = tmp_1022(continue_)
        if tmp_1023:
          y += i
    do_return = True
    tmp_1024 = y[0]
    tmp_1025 = tmp_1024.b
    tmp_1026 = -x
    tmp_1027 = tmp_1025 + x
    tmp_1028 = y, tmp_1026
    retval_ = tmp_1027, tmp_1028
  return retval_
"""
# Calls, the tests of `if`, and the arguments of calls of `g` and `h`.
SOME_NAMED = """
def jumping(x, y):
  tmp_1001 = g(y)
  tmp_1002 = x > tmp_1001
  if tmp_1002:
    do_return = True
    tmp_1003 = x - 1
    tmp_1004 = y + 2
    retval_ = h(tmp_1003, tmp_1004)
  else:
    tmp_1005 = range(3)
    tmp_1006 = map(str, tmp_1005)
    tmp_1007 = list(tmp_1006)
    z = tmp_1007[0:y]
    del y.q
    tmp_1008 = w(3)
    tmp_1009 = 2
    tmp_1010 = g(tmp_1009)
    tmp_1011 = f(1)
    tmp_1012 = x.e(*tmp_1011, k=[2 + x])
    u.v[tmp_1008], (p, r) = {1: tmp_1010, 3: x}[tmp_1012]
    break_ = False
    for i in z:
      continue_ = False
      tmp_1013 = k(x)
      tmp_1014 = i > tmp_1013
      if tmp_1014:
        break_ = True
        continue_ = True
      tmp_1015 = ag__.not_(continue_)
      if tmp_1015:
        tmp_1016 = i < 3
        if tmp_1016:
          continue_ = True
        tmp_1017 = ag__.not_(continue_)
        if tmp_1017:
          y += i
    do_return = True
    retval_ = y[0].b + x, (y, -x)
  return retval_
"""


def same_code(node: Any, code: str) -> bool:
    made, wanted = (ast.dump(ast.parse(text)) for text in (trees.ast_to_source(node), code))
    return made == wanted


def prepared(function: Any, null: bool) -> Any:
    """Return a function's tree with one return, as TensorFlow Probability prepares it."""
    node, _ = trees.parse_entity(function, ())
    program = passes.ProgramContext(ConversionOptions(recursive=True), None)
    context = passes.EntityContext(trees.Namer({}), EntityInfo("", None, (), {}), program)
    for change in (passes.lower_loop_jumps, passes.lower_loop_jumps):
        node = change(passes.standard_analysis(node, context, True), context)
    return passes.lower_returns(node, context, default_to_null_return=null)


def test_functions_leave_loops_and_themselves_at_one_place() -> None:
    node = prepared(jumping, null=False)
    assert same_code(node, ONE_RETURN)
    (loop,) = (each for each in gast.walk(node) if isinstance(each, gast.For))
    test = annotations.getanno(loop, "extra_test")  # which a `for` has no place for
    assert trees.ast_to_source(test, include_encoding_marker=False) == "ag__.not_(break_)\n"


def test_a_return_without_a_path_around_it_stays() -> None:
    def plain(a):
        return a + 1

    assert same_code(prepared(plain, null=True), "def plain(a):\n  return a + 1")


def test_all_intermediate_values_get_names() -> None:
    assert same_code(anf.transform(prepared(jumping, null=False), None), NAMED)


def test_rules_choose_the_values_that_get_names() -> None:
    def of_some(call: Any, field: str, child: Any) -> bool:
        return str(annotations.getanno(call.func, annotations.Basic.QN, "")) in ("g", "h")

    rules: anf.Rules = [
        (anf.ASTEdgePattern(gast.If, "test", anf.ANY), anf.REPLACE),
        (anf.ASTEdgePattern(anf.ANY, anf.ANY, gast.Call), anf.REPLACE),
        (anf.ASTEdgePattern(gast.Call, "args", anf.ANY), of_some),
    ]
    assert same_code(anf.transform(prepared(jumping, null=False), None, rules), SOME_NAMED)


@pytest.mark.parametrize(
    "code", ["a and f(b)", "lambda: f(1)", "[f(a) + 1 for a in b]", "f(a) if b else c"]
)
def test_what_is_not_always_computed_gets_no_name(code: str) -> None:
    (node,) = gast.parse(f"x = {code}").body
    with pytest.raises(ValueError, match="nodes not supported yet"):
        anf.transform(node, None)


def test_statements_know_the_names_that_they_read() -> None:
    (node,) = gast.parse("a.b[i] = c.d(lambda e: e + f, [h for h in j.k])").body
    scope = annotations.getanno(passes.standard_analysis(node, None), annotations.Static.SCOPE)
    assert {*map(str, scope.read)} == {"a", "a.b", "i", "c", "c.d", "f", "j", "j.k"}
    assert {*map(str, scope.modified)} == {"a.b[i]"}


def test_qualified_names() -> None:
    name = qualified_names.from_str("a.b[c.d].e")
    assert str(name) == "a.b[c.d].e" and name.ssf() == "a_b_sub_c_d_e"
    assert {*map(str, name.support_set)} == {"a", "c"}
    assert {*map(str, name.owner_set)} == {"a", "a.b", "a.b[c.d]"}
    assert name == qualified_names.from_str("a . b[c.d] . e") and not name.is_simple()
    assert same_code(gast.Expr(name.ast()), str(name))


def test_templates_are_filled() -> None:
    template = """
        def function(a):
            names = a
            with a.var.name(x, k=key):
                body
            return lambda args: names.attr
    """
    filled = templates.replace(
        template,
        function="foo",
        names=gast.List([gast.Name("u", gast.Load(), None, None)], gast.Load()),
        name=qualified_names.QN("t"),
        x=qualified_names.from_str("a.b[0]"),
        key="kk",
        body=templates.replace("p = 1\nq(2)"),
        args=["m", "n"],
    )
    wanted = """
        def foo(a):
            [u] = a
            with a.var.t(a.b[0], k=kk):
                p = 1
                q(2)
            return lambda m, n: [u].attr
    """
    assert same_code(filled, textwrap.dedent(wanted))
    with pytest.raises(ValueError, match="a name can only be replaced by a name"):
        templates.replace("a.b", b=gast.Constant(1, None))


def test_trees_become_objects_with_a_source() -> None:
    import inspect

    node = templates.replace("def foo(x): return x + c", c=gast.Constant(2, None))
    module, source, places = trees.ast_to_object(node)
    assert module.foo(3) == 5 and places is None
    assert inspect.getsource(module.foo) in source
    with pytest.raises(NotImplementedError, match="include_source_map"):
        trees.ast_to_object(node, include_source_map=True)


def test_new_names_are_none_that_are_taken() -> None:
    namer = trees.Namer({"a": 1})
    assert namer.new_symbol("a", ()) == "a_1"
    assert namer.new_symbol("a_1", ()) == "a_2"
    assert namer.new_symbol("b", [qualified_names.QN("b"), "b_1"]) == "b_2"
