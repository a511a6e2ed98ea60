"""Faults of memory, devices and types that a check of steps finds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from tests.runtime.hand_written import call, other

import stillflow as tf
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Memory, Name, Step, Value
from stillflow.runtime.ir.verify import BrokenPlan
from stillflow.runtime.ir.verify_memory import Lifetimes, verify_edges, verify_memory


def placed(*steps, memory=None, results=(), **roots):
    """Check steps; values of the same root share memory."""
    named = {name: frozenset((root,)) for name, root in roots.items()}
    verify_memory(steps, named, memory or Memory(), results)


def test_a_result_may_be_written_over_the_last_use_of_its_argument() -> None:
    placed(
        call("Exp", "a", "x"), call("Neg", "b", "a", overwrites=True), call("Tanh", "c", "b"),
        results=["c"], a=0, b=0, c=1,
    )  # fmt: skip


def test_no_result_is_written_over_an_alias_that_is_taken_later() -> None:
    view = call("Reshape", "v", "a")
    over = call("Neg", "b", "a", overwrites=True)
    with pytest.raises(BrokenPlan, match="the call of c takes v, whose memory the call of b chan"):
        placed(call("Exp", "a", "x"), view, over, call("Tanh", "c", "v"), a=0, v=0, b=0)
    with pytest.raises(BrokenPlan, match="the plan takes v, whose memory the call of b changed"):
        placed(call("Exp", "a", "x"), view, over, results=["v"], a=0, v=0, b=0)


def variable(is_snapshot):
    memory, read = Memory(), other("read", "v", "w")
    (root,) = memory.variable(read, 0, is_snapshot)
    write = call("AssignAdd", "_", "w", "x", writes=[0])
    return memory, read, write, root


def test_a_value_read_through_a_resource_is_not_taken_after_a_write() -> None:
    memory, read, write, root = variable(is_snapshot=True)
    with pytest.raises(BrokenPlan, match="the call of a takes v, whose memory the call of _ chan"):
        placed(read, write, call("Exp", "a", "v"), memory=memory, v=root)
    write.writes = [-1]
    with pytest.raises(BrokenPlan, match="the plan takes v"):
        placed(read, write, memory=memory, results=["v"], v=root)
    read.copies = True
    placed(read, write, call("Exp", "a", "v"), memory=memory, v=root)


def test_a_value_read_through_a_reference_may_show_a_write() -> None:
    memory, read, write, root = variable(is_snapshot=False)
    placed(read, write, call("Exp", "a", "v"), memory=memory, v=root)


def test_what_an_operation_keeps_is_not_taken_later(graph) -> None:
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])
    op = tf.raw_ops.AssignVariableOp(resource=handle, value=1.0)
    keep = Step("call", op, ["f"], ["a"], (), None, ["handle", Name("a")])
    with pytest.raises(BrokenPlan, match="takes a, whose memory the call of f changed"):
        placed(call("Exp", "a", "x"), keep, call("Neg", "b", "a"), a=0, f=1)
    placed(call("Exp", "a", "x"), call("Neg", "b", "a"), keep, a=0, f=1)


def test_names_are_freed_once_and_not_taken_then() -> None:
    made, taken = call("Exp", "t1", "x"), call("Neg", "t2", "t1")
    lifetimes = Lifetimes()
    lifetimes.step(made)
    lifetimes.free(made, ["t1"])
    with pytest.raises(BrokenPlan, match="the call of t2 takes t1, which was freed"):
        lifetimes.step(taken)
    with pytest.raises(BrokenPlan, match="frees t1, which was freed"):
        lifetimes.free(taken, ["t1"])
    with pytest.raises(BrokenPlan, match="the plan takes t1, which was freed"):
        lifetimes.results(["t1"])
    lifetimes.step(made)  # in the next iteration
    lifetimes.step(taken)


def edges(*, of=tf.float32, place=None, target=None):
    """Check a sigmoid that takes a value of a type, from a device."""
    with tf.Graph().as_default():
        source = tf.constant(1, of)
        op = tf.sigmoid(tf.constant(1.0)).op
    moves = SimpleNamespace(
        place=lambda name: place, device_of=lambda op: target
    )  # fmt: skip
    graph = StepGraph(
        [Step("call", op, ["b"], ["a"], (), torch.sigmoid, [Name("a")])],
        feeds=["a"], results=["b"], values={source: Value("a")},
        moves=None if target is None else moves,
    )  # fmt: skip
    verify_edges(graph, "a pass")


def test_a_call_takes_values_of_its_operations_type() -> None:
    edges()
    with pytest.raises(BrokenPlan, match=r"after 'a pass': .* takes a of int32, not of float32"):
        edges(of=tf.int32)


def test_a_call_takes_no_value_of_another_gpu() -> None:
    gpu, host = torch.device("cuda:0"), torch.device("cpu")
    edges(place=gpu, target=gpu)
    edges(place=host, target=gpu)  # a number, say
    for target in (host, torch.device("cuda:1")):
        with pytest.raises(BrokenPlan, match=f"takes a on cuda:0, not on {target}"):
            edges(place=gpu, target=target)
