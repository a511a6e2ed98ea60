"""Faults that a check of steps finds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.runtime.hand_written import call, other

import stillflow as tf
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.verify import BrokenPlan, verify
from stillflow.runtime.passes import pipeline

PREDICATE = other("bool", "p", "x")
TAKEN, NOT_TAKEN = (("p", True),), (("p", False),)


def graph(*steps, results=()):
    return StepGraph(steps, {"c": 1.0}, results, feeds=["x"])


@pytest.mark.parametrize(
    "steps",
    [
        [call("Exp", "a", "x"), call("Mul", "b", "a", "c")],
        [
            PREDICATE,
            call("Exp", "a", "x", guard=TAKEN),
            call("Neg", "b", "a", guard=TAKEN),
        ],
        [call("Exp", "a", "x"), call("Neg", "b", "a", guard=None)],
        [call("Exp", "a", "x", overwrites=True), call("Neg", "b", "a")],
    ],
)
def test_plans_that_can_run_pass(steps) -> None:
    verify(graph(*steps, results=["b"]), "a pass")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([call("Exp", "b", "a"), call("Neg", "a", "x")], "takes a, which no step has made"),
        ([call("Exp", "b", "x"), call("Neg", "b", "x")], "makes b, as another step does"),
        ([call("Exp", "b", "x", guard=TAKEN)], "takes p, which no step has made"),
        (
            [PREDICATE, call("Exp", "a", "x", guard=TAKEN), call("Neg", "b", "a")],
            "the call of b takes a, which need not exist when it runs",
        ),
        (
            [PREDICATE, call("Exp", "a", "x", guard=TAKEN),
             call("Neg", "b", "a", guard=NOT_TAKEN)],
            "takes a, which need not exist",
        ),
        (
            [call("Exp", "b", "x"), call("Neg", "a", "b", overwrites=True), call("Tanh", "d", "b")],
            "takes b, which the call of a overwrote",
        ),
        ([call("Exp", "a", "x")], "nothing makes the result b"),
    ],
)  # fmt: skip
def test_plans_that_cannot_run_are_named(steps, message) -> None:
    with pytest.raises(BrokenPlan, match=f"after 'a pass': .*{message}"):
        verify(graph(*steps, results=["b"]), "a pass")


def test_the_pass_that_breaks_a_plan_is_named(monkeypatch, cpu) -> None:
    def break_it(graph: StepGraph) -> None:
        for step in graph.calls("Exp"):
            graph.remove(step)

    passes = (pipeline.Pass("spoil", break_it), *pipeline.PASSES)
    monkeypatch.setattr(pipeline, "PASSES", passes)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with pytest.raises(BrokenPlan, match=r"after 'spoil': .* takes "):
            session.run(tf.tanh(tf.exp(x)), {x: [1.0, 2.0]})


def test_it_is_off_unless_asked_for(monkeypatch) -> None:
    monkeypatch.delenv("STILLFLOW_VERIFY_PLANS", raising=False)
    code = "from stillflow.runtime.ir import verify; print(verify.WANTED)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
