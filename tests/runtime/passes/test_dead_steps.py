"""Dead steps of a run, and steps that are not dead."""

from __future__ import annotations

import pytest
from tests.simulated_cuda import simulated_cuda

import stillflow as tf
from stillflow.ops.control_flow.switch import switch
from stillflow.runtime.plan import emit

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def ran(monkeypatch):
    """Names of the operations in the plans that are made during a test."""
    names = []
    function = emit.Emitter.function

    def record(self, *args):
        names.extend(step.op.name for step in self.steps if step.op is not None)
        return function(self, *args)

    monkeypatch.setattr(emit.Emitter, "function", record)
    return names


def test_a_pure_op_behind_a_control_input_alone_does_not_run(ran, cpu):
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.log(x, name="log")]):
        y = tf.add(x, 1.0, name="add")
    with tf.Session() as session:
        assert session.run(y, {x: [-1.0, 0.0]}).tolist() == [0.0, 1.0]
    assert "add" in ran and "log" not in ran


def test_the_gradient_of_a_constant_exponent_does_not_run(ran):
    x = tf.placeholder(tf.float32, [2])
    rule = tf.train.GradientDescentOptimizer(0.1)
    scale = tf.Variable([2.0, 3.0])
    pairs = rule.compute_gradients(tf.reduce_sum(tf.pow(scale * x, 3.0)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(pairs[0][0], {x: [1.0, 1.0]}).tolist() == [12.0, 27.0]
    assert not [name for name in ran if "Pow_grad/Log" in name]


def test_a_check_behind_a_control_input_runs():
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.check_numerics(x, "bad number")]):
        y = tf.constant(1.0) + 1.0
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="bad number"):
        session.run(y, {x: float("nan")})


def test_an_update_behind_a_pure_op_behind_a_control_input_runs():
    variable = tf.Variable(1.0)
    doubled = tf.assign_add(variable, 1.0) * 2.0
    with tf.control_dependencies([doubled]):
        done = tf.constant(0)
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(done)
        assert session.run(variable) == 2.0


def test_a_pure_op_that_is_a_target_runs():
    x = tf.placeholder(tf.int32, [])
    quotient = tf.floordiv(1, x)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="zero"):
        session.run(quotient.op, {x: 0})


def test_a_branch_keeps_the_predicate_it_needs():
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: tf.sqrt(x), lambda: tf.zeros([]))
    with tf.Session() as session:
        assert session.run(y, {x: 4.0}) == 2.0
        assert session.run(y, {x: -4.0}) == 0.0


@pytest.mark.parametrize("known", [True, False])
def test_targets_behind_a_side_that_is_not_taken_do_nothing(known):
    feed = tf.placeholder(tf.bool, [])
    predicate = tf.constant(False) if known else feed
    _, taken = switch(tf.constant(5.0), predicate)
    v = tf.Variable(1.0)
    assign, doubled = v.assign(taken).op, taken * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([assign, tf.group(assign), doubled.op], {feed: False}) == [None] * 3
        assert session.run(v) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(doubled, {feed: False})


def test_what_is_taken_for_its_shape_alone_is_not_brought_to_a_device(monkeypatch):
    moved = []
    function = emit.Emitter.function

    def record(self, *args):
        moves = [step for step in self.steps if step.kind == "move"]
        moved.extend((step.op.type, step.arguments[0].type) for step in moves)
        return function(self, *args)

    monkeypatch.setattr(emit.Emitter, "function", record)
    x = tf.placeholder(tf.float32, [None, 3])
    rows = tf.shape(tf.transpose(x))[1]
    with simulated_cuda(), tf.Session() as session:
        assert session.run(rows, {x: [[1.0, 2.0, 3.0]]}) == 1
        assert session.run(tf.transpose(x), {x: [[1.0, 2.0, 3.0]]}).shape == (3, 1)
    assert moved == [("Transpose", "cuda"), ("Transpose", "cpu")]  # the fetch comes back
