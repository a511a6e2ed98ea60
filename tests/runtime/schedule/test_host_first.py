"""The order of steps in which those of a device stand together."""

from __future__ import annotations

from types import SimpleNamespace

import stillflow as tf
from stillflow.runtime.ir.steps import Memory, Name, Step
from stillflow.runtime.schedule.host_first import host_first
from stillflow.runtime.schedule.steps import StepAccesses


def step(outputs, inputs, place, op=None, **rest):
    made = Step(
        rest.pop("kind", "call"), op, outputs.split(), inputs.split(), rest.pop("guard", ())
    )
    made.arguments = [Name(name) for name in made.inputs]
    made.writes = rest.pop("writes", [])
    made.keywords["place"] = place
    return made


def ordered(*steps, buffers=None):
    accesses = StepAccesses(steps, {}, {}, Memory())
    accesses.buffer_of = (buffers or {}).get
    found = host_first(steps, [step.keywords["place"] for step in steps], accesses)
    assert sorted(map(id, found)) == sorted(map(id, steps))
    return [" ".join(each.outputs) or each.inputs[0] for each in found]


def pure():
    with tf.Graph().as_default():
        return tf.tanh(1.0).op


def assertion():
    with tf.Graph().as_default():
        return tf.Assert(True, ["no"])


def test_the_host_does_first_what_it_can():
    op = pure()
    found = ordered(
        step("a", "x", "gpu", op), step("h", "n", None, op), step("b", "a", "gpu", op),
        step("k", "h", None, op), step("c", "b k", "gpu", op),
    )  # fmt: skip
    assert found == ["h", "k", "a", "b", "c"]


def test_what_no_device_waits_for_comes_last():
    op = pure()
    found = ordered(
        step("a", "x", "gpu", op), step("h", "a", None, op), step("n", "m", None, op),
        step("b", "a", "gpu", op), step("k", "h", None, op), step("c", "y", "other", op),
    )  # fmt: skip
    assert found == ["a", "b", "c", "h", "n", "k"]


def test_what_may_fail_or_change_something_does_not_come_last():
    op, effect = pure(), assertion()
    found = ordered(
        step("a", "x", "gpu", op), step("h", "n", None, op), step("", "h", None, effect),
        step("b", "a", "gpu", op), step("", "r", None, op, writes=[0]), buffers={"r": 0},
    )  # fmt: skip
    assert found == ["h", "h", "r", "a", "b"]


def test_a_variable_that_takes_another_value_is_read_after_it():
    with tf.Graph().as_default():
        assign = tf.raw_ops.AssignVariableOp(
            resource=tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[]), value=1.0
        )
    found = ordered(
        step("", "r v", "gpu", assign), step("t", "r", None, pure(), kind="read"),
        step("h", "t", "gpu", pure()), buffers={"r": -1},
    )  # fmt: skip
    assert found == ["r", "t", "h"]


def test_what_waits_for_a_device_comes_after_it():
    op = pure()
    found = ordered(
        step("a", "x", "gpu", op), step("h", "a", None, op), step("b", "a", "gpu", op),
        step("c", "h b", "gpu", op),
    )  # fmt: skip
    assert found == ["a", "h", "b", "c"] or found == ["a", "b", "h", "c"]


def test_variables_are_written_when_they_were():
    op = pure()
    found = ordered(
        step("t", "r", "gpu", op, kind="read"), step("a", "t", "gpu", op),
        step("", "r a", "gpu", op, writes=[0]), step("u", "r", None, op, kind="read"),
        step("h", "u", None, op), buffers={"r": 0},
    )  # fmt: skip
    assert found == ["t", "a", "r", "u", "h"]


def test_effects_keep_their_order_and_that_with_writes():
    op, effect = pure(), assertion()
    found = ordered(
        step("a", "x", "gpu", op), step("", "a", None, effect),
        step("", "r", "gpu", op, writes=[0]), step("", "n", None, effect),
        step("h", "n", None, op), buffers={"r": 0},
    )  # fmt: skip
    assert found == ["a", "a", "r", "n", "h"]


def test_what_branches_make_is_taken_behind_them():
    op = pure()
    found = ordered(
        step("p", "n", None, op, kind="bool"),
        step("m", "a", None, op, kind="alias", guard=(("p", True),)),
        step("m", "b", None, op, kind="alias", guard=(("p", False),)),
        step("c", "x", "gpu", op), step("d", "c m", "gpu", op),
    )  # fmt: skip
    assert found == ["p", "m", "m", "c", "d"]


def test_loops_keep_their_place():
    op = pure()
    loop = step("l", "n", None, op, kind="loop")
    loop.arguments = [SimpleNamespace(steps=[])]
    found = ordered(step("a", "x", "gpu", op), loop, step("h", "n", None, op))
    assert found == ["a", "l", "h"]
