"""Patterns of calls, matched against steps written by hand."""

from __future__ import annotations

import torch
from tests.runtime.hand_written import call, outputs

from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.passes.patterns import Call, match

PRODUCT_OF_SUM = Call("Relu", Call(("Mul", "Sub"), Call(torch.add)))


def found(pattern, *steps, results=()):
    graph = StepGraph(steps, results=results, feeds=["x", "y"])
    made = match(pattern, graph, graph.steps[-1])
    return None if made is None else outputs(made)


def test_a_match_is_given_from_the_last_step_to_the_first() -> None:
    steps = [call("Add", "a", "x", "y"), call("Mul", "b", "a", 2.0), call("Relu", "c", "b")]
    assert found(PRODUCT_OF_SUM, *steps) == ["c", "b", "a"]


def test_other_operations_and_values_that_others_take_do_not_match() -> None:
    add, multiply = call("Add", "a", "x", "y"), call("Mul", "b", "a", 2.0)
    relu = call("Relu", "c", "b")
    assert found(PRODUCT_OF_SUM, add, call("Exp", "b", "a"), relu) is None
    assert found(PRODUCT_OF_SUM, add, multiply, relu, results=["a"]) is None
    assert found(PRODUCT_OF_SUM, add, multiply, call("Neg", "d", "b"), relu) is None
    assert found(PRODUCT_OF_SUM, add, call("Mul", "b", "a", 2.0, fused=True), relu) is None


def test_an_optional_call_may_be_missing() -> None:
    pattern = Call("Relu", Call("Mul", Call("Add"), optional=True))
    add = call("Add", "a", "x", "y")
    assert found(pattern, add, call("Relu", "c", "a")) == ["c", "a"]
    assert found(pattern, add, call("Mul", "b", "a", 2.0), call("Relu", "c", "b")) == [
        "c",
        "b",
        "a",
    ]


def test_further_arguments_have_patterns_too() -> None:
    pattern = Call("Sub", None, Call("Exp"))
    assert found(pattern, call("Exp", "a", "x"), call("Sub", "b", "y", "a")) == ["b", "a"]
    assert found(pattern, call("Exp", "a", "x"), call("Sub", "b", "a", "y")) is None
