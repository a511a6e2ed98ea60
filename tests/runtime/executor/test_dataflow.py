"""Watched runs, which give the values of other runs, one operation after the other."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.debug.dumping import DumpingDebugWrapperSession


@pytest.fixture
def session(tmp_path):
    with tf.Graph().as_default(), tf.Session() as plain:
        yield DumpingDebugWrapperSession(plain, str(tmp_path / "dumps"))


def test_a_value_read_through_a_reference_is_what_the_variable_holds_when_it_is_used(session):
    step = tf.Variable(0)
    with tf.control_dependencies([step.assign_add(1)]):
        is_odd = tf.equal(tf.mod(step, 2), 1)
    chosen = tf.cond(is_odd, lambda: tf.constant("odd"), lambda: tf.constant("even"))
    session.run(step.initializer)
    assert [session.run(chosen) for _ in range(3)] == [b"odd", b"even", b"odd"]


def test_a_branch_that_gives_a_variable_gives_what_it_holds(session):
    v = tf.Variable([1.0, 2.0])
    flag = tf.placeholder(tf.bool)
    chosen = tf.cond(flag, lambda: v.assign_add([1.0, 1.0]), lambda: v._ref())
    session.run(v.initializer)
    np.testing.assert_array_equal(session.run(chosen, {flag: False}), [1, 2])
    np.testing.assert_array_equal(session.run(chosen, {flag: True}), [2, 3])


def test_a_fed_placeholder_for_which_others_wait_is_not_run(session):
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([x]):
        y = x + tf.constant(1.0)
    assert session.run(y, {x: 2.0}) == 3


def test_a_fed_index_chooses_a_branch_that_is_a_function(session):
    i = tf.placeholder(tf.int32, [])
    tf.enable_control_flow_v2()
    try:
        y = tf.switch_case(i, [lambda: tf.constant(1.0), lambda: tf.constant(2.0)])
    finally:
        tf.disable_control_flow_v2()
    assert [session.run(y, {i: index}) for index in (0, 1, 7)] == [1, 2, 2]


@pytest.mark.parametrize("truth", [[True], [True, False]])
def test_predicates_have_to_be_scalars(session, truth):
    given = tf.placeholder(tf.bool)
    switched = tf.raw_ops.Switch(data=1.0, pred=given)[1]
    refused = session.run(switched, {given: truth})  # a debugger gives errors back
    assert isinstance(refused, tf.errors.InvalidArgumentError)
    assert refused.message.startswith("The second input must be a scalar, but it has shape")


def test_what_shapes_are_refused_is_said_as_in_other_runs(session):
    image = tf.placeholder(tf.float32)
    pooled = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    error = session.run(pooled, {image: np.zeros((2, 2, 1), np.float32)})  # which it hands over
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape must be rank 4 but is rank 3"):
        raise error


def test_a_variable_that_is_read_and_assigned_in_no_order_is_read_first_or_last_as_elsewhere(
    session,
):
    x = tf.placeholder(tf.float32, [2, 2])
    v = tf.get_variable("v", initializer=[[1.0, 0.0], [0.0, 1.0]], use_resource=True)
    product = tf.matmul(x, v.read_value())
    update = v.assign(product)
    plain = tf.Session(graph=tf.get_default_graph())
    for each in (plain, session):
        each.run(v.initializer)
    feed = {x: [[2.0, 0.0], [0.0, 2.0]]}
    for _ in range(2):
        want = plain.run([v, update, product], feed)
        for a, b in zip(session.run([v, update, product], feed), want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_waits_for_a_group_in_a_branch_not_taken_waits_for_the_rest_too(session):
    v = tf.Variable(0, use_resource=True)
    flag = tf.placeholder(tf.bool, [])
    done = tf.cond(flag, lambda: tf.group(v.assign_add(5)), lambda: tf.no_op())
    session.run(v.initializer)
    for taken in (True, False, True):
        session.run(done, {flag: taken})
    assert session.run(v) == 10


def test_a_loop_in_a_branch_not_taken_does_not_end_the_loop_around_it(session):
    def turn(i, x):
        def inner():
            return tf.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * 2.0), (0, x))[1]

        return i + 1, tf.cond(tf.equal(i % 2, 1), inner, lambda: x + 1.0)

    x = tf.constant(1.0)
    _, y = tf.while_loop(lambda i, _: i < 4, turn, (0, x))
    (slope,) = tf.gradients(y, x)
    assert session.run([y, slope]) == [40.0, 16.0]


def test_a_fed_scalar_that_is_fetched_is_an_array_as_in_other_runs(session):
    x = tf.placeholder(tf.float32, [])
    fed, computed = session.run([x, x + 1.0], {x: 2.0})
    assert (type(fed), type(computed)) == (np.ndarray, np.float32)


def test_a_fed_number_is_refused_in_the_words_of_other_runs(session):
    count = tf.placeholder(tf.int32, [])
    drawn = tf.multinomial([[1.0]], count)
    refused = session.run(drawn, {count: -3})
    assert isinstance(refused, tf.errors.InvalidArgumentError)
    assert refused.message.startswith("num_samples should be nonnegative, got -3")
