"""Patterns are found among calls by operations and wiring alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from stillflow.ops.patterns import Matcher, added, matmul, multiplied, term


def call(kind, outputs, *arguments, fused=False, **attrs):
    op = SimpleNamespace(type=kind, attrs=attrs)
    return SimpleNamespace(
        op=op, outputs=outputs.split(), arguments=list(arguments), keywords={}, fused=fused
    )


def found(pattern, name, *steps, constants=()):
    makers = {output: step for step in steps for output in step.outputs}
    return list(Matcher(makers.get, dict(constants)).match(pattern, name, {}))


def test_a_text_stands_for_the_same_value_everywhere():
    square = multiplied("x", "x")
    assert found(square, "y", call("Mul", "y", "a", "a"))[0]["x"] == "a"
    assert not found(square, "y", call("Mul", "y", "a", "b"))


def test_sums_may_have_their_terms_in_any_order():
    steps = call("AddN", "y", "a", "b", "c"), call("Neg", "b", "z"), call("Exp", "a", "z")
    exp, neg = term("Exp", "z"), term("Neg", "z")
    (bound,) = found(added(neg, "more", exp), "y", *steps)
    assert (bound["more"], bound[exp], bound[neg]) == ("c", "a", "b")
    assert added("x") == "x"


@pytest.mark.parametrize("constant", [0.5, torch.tensor(0.5), torch.tensor(0.50000001)])
def test_numbers_are_constants_of_that_value(constant):
    steps = (call("Mul", "y", "x", "c"),)
    assert found(multiplied(0.5, "x"), "y", *steps, constants={"c": constant})
    assert not found(multiplied(0.25, "x"), "y", *steps, constants={"c": constant})
    assert not found(multiplied(0.5, "x"), "y", *steps, constants={"c": torch.tensor([0.5])})


def test_calls_of_other_outputs_attributes_and_numbers_of_arguments_do_not_count():
    split = call("Split", "a b", "x", 2)
    assert found(term("Split", "x", 2, output=1), "b", split)
    assert not found(term("Split", "x", 2, output=1), "a", split)
    assert not found(term("Split", "x"), "a", split)
    product = call("MatMul", "y", "a", "b", transpose_a=False, transpose_b=True)
    assert found(matmul("x", "w", transpose_b=True), "y", product)
    assert not found(matmul("x", "w"), "y", product)


def test_alternatives_and_tests():
    pattern = term("Exp", (term("Neg", "x"), "x")), term("Log", lambda value: value == "z")
    assert found(pattern, "y", call("Exp", "y", "a"))[0]["x"] == "a"
    assert found(pattern, "y", call("Log", "y", "z"))
    assert not found(pattern, "y", call("Log", "y", "a"))


def test_fused_calls_are_not_what_their_operation_says():
    assert not found(term("Exp", "x"), "y", call("Exp", "y", "a", fused=True))
