"""Questions to a graph of steps, and edits of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.runtime.hand_written import call, other, outputs

from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import fuse


@pytest.fixture
def graph() -> StepGraph:
    """`d = relu(x * 2 + x)`, and its negative."""
    return StepGraph(
        [
            call("Mul", "a", "x", 2.0),
            call("Add", "b", "a", "x"),
            call("Relu", "c", "b"),
            call("Neg", "d", "c"),
        ],
        results=["c"],
        feeds=["x"],
    )


def test_producers_and_consumers_of_a_value(graph: StepGraph) -> None:
    multiply, add, relu, negate = graph
    assert graph.producer("a") is multiply and graph.producer("x") is None
    assert graph.consumers("x") == [multiply, add] and graph.consumers("d") == []
    assert graph.uses("c") == 2 and graph.is_result("c") and not graph.is_result("d")
    assert graph.place(add) < graph.place(relu) and negate in graph


def test_calls_are_found_by_type_and_by_kernel(graph: StepGraph) -> None:
    assert outputs(graph.calls("Mul")) == outputs(graph.calls(torch.mul)) == ["a"]
    assert outputs(graph.calls(("Relu", "Mul", "Exp"))) == ["a", "c"]
    fused = call("Exp", "e", "d", fused=True)
    assert not list(StepGraph([fused]).calls("Exp"))


def test_a_sole_producer_serves_nobody_else(graph: StepGraph) -> None:
    _, add, relu, negate = graph
    assert graph.sole_producer(relu, 0, "Add") is add
    assert (
        graph.sole_producer(relu, 0, ("Sub", "Add")) is add
        and graph.sole_producer(relu, 0, "Sub") is None
    )
    assert graph.sole_producer(negate, 0, "Relu") is None  # it is a result too
    assert graph.shared_producer(negate, 0, torch.relu) is relu
    assert graph.sole_consumer(add, 0, "Relu") is relu


def test_producers_under_another_condition_do_not_count() -> None:
    guard = (("p", True),)
    steps = [other("bool", "p", "x"), call("Exp", "a", "x"), call("Neg", "b", "a", guard=guard)]
    graph = StepGraph(steps, feeds=["x"])
    assert graph.sole_producer(steps[2], 0, "Exp") is None
    assert graph.consumers("p") == [steps[2]]


def test_a_fusion_takes_the_place_of_its_parts(graph: StepGraph) -> None:
    _, add, relu, negate = graph
    fused = fuse([add, relu], relu.outputs, lambda a, x: None, add.arguments)
    graph.replace([add, relu], fused, at=add)
    assert outputs(graph) == ["a", "c", "d"] and graph.matches == 1 and len(graph) == 3
    assert (
        graph.producer("c") is fused and graph.producer("b") is None and graph.consumers("b") == []
    )
    assert graph.consumers("a") == [fused] and add not in graph
    assert graph.place(fused) < graph.place(negate)


def test_what_is_replaced_while_steps_are_gone_through_is_seen_once(graph: StepGraph) -> None:
    seen = []
    for step in graph:
        seen += step.outputs
        if step.outputs == ["a"]:
            parts = [each for each in graph if each.outputs[0] in "bc"]
            graph.replace(parts, fuse(parts, ["c"], torch.add, parts[0].arguments), at=parts[1])
    assert seen == ["a", "c", "d"]


def test_steps_are_put_before_others_and_at_the_end(graph: StepGraph) -> None:
    multiply, add, _, negate = graph
    graph.replace([], call("Exp", "e", "a"), call("Tanh", "t", "a"), at=add)
    graph.replace([], call("Neg", "n", "b"), at=None)
    assert outputs(graph) == ["a", "e", "t", "b", "c", "d", "n"] and graph.matches == 0
    graph.replace([negate], replace(negate), at=add)
    graph.remove(multiply)
    assert outputs(graph) == ["e", "t", "d", "b", "c", "n"]
    graph.change(add, arguments=[1.0], inputs=[])
    assert graph.consumers("a") == [graph.producer("e"), graph.producer("t")]


def test_values_of_variables_are_not_stable() -> None:
    read = other("read", "v", "handle")
    graph = StepGraph([read, call("Identity", "i", "v"), call("Exp", "e", "i")], feeds=["handle"])
    assert not graph.is_stable("v") and not graph.is_stable("i")
    assert graph.is_stable("e") and graph.is_stable("fed")


def test_writers_between_two_steps() -> None:
    steps = [call("Exp", "a", "x"), call("Neg", "b", "x", writes=[0]), call("Tanh", "c", "x")]
    graph = StepGraph([*steps, call("Exp", "d", "x", writes=[1])])
    assert graph.writers(steps[0], steps[2]) == [steps[1]]
    assert graph.writers(steps[0], steps[1]) == []
    graph.remove(steps[1])
    assert graph.writers(steps[0], steps[2]) == []
