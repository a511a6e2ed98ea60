"""Variables that a loop reads in each iteration and nobody changes: one read."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.runtime.plan import emit

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def copies(monkeypatch):
    """Return a list with the number of values that plans copied."""
    found = []
    plain = emit.clone
    monkeypatch.setattr(emit, "clone", lambda value: found.append(value) or plain(value))
    return found


def variable(value):
    return tf.Variable(np.float32(value), use_resource=True)


def turns(body, count, start):
    loop = tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, body(a)), [0, start])
    return loop[1]


def test_copies_in_functions_do_not_grow_with_the_turns(copies):
    with ImmediateGraph().as_default():
        v = variable([1.5, 2.0])

        @tf.function
        def step(count):
            result = turns(lambda a: tf.tanh(a * v.read_value()), count, tf.ones([2]))
            return [result, *tf.gradients(result, v)]

        few = step(tf.constant(3))
        copies.clear()
        step(tf.constant(3))
        copied = len(copies)
        copies.clear()
        step(tf.constant(9))
        assert len(copies) == copied
    a, slope, value = np.ones(2), np.zeros(2), np.array([1.5, 2.0])
    for _ in range(3):
        slope = (1 - np.tanh(a * value) ** 2) * (a + value * slope)
        a = np.tanh(a * value)
    np.testing.assert_allclose(few[0].numpy(), a, rtol=1e-5)
    np.testing.assert_allclose(few[1].numpy(), slope, rtol=1e-5)


def test_what_the_loop_changes_is_read_at_each_turn():
    v = variable([0.0])

    def add(a):
        with tf.control_dependencies([v.assign_add([1.0])]):
            return a + v.read_value()

    loop = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, add(a)), [0, tf.zeros([1])], parallel_iterations=1
    )
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(loop[1]) == [6.0]


def test_what_a_function_in_the_loop_changes_is_read_at_each_turn():
    v = variable([0.0])
    with tf.Session() as session:

        def change(i):
            v.load([float(i)], session)
            return np.float32(0)

        def body(i, a):
            zero = tf.py_func(change, [i], tf.float32)
            with tf.control_dependencies([zero]):
                return i + 1, a + v.read_value()

        loop = tf.while_loop(lambda i, a: i < 4, body, [0, tf.zeros([1])], parallel_iterations=1)
        session.run(v.initializer)
        assert session.run(loop[1]) == [6.0]


def test_a_loop_without_turns_reads_nothing():
    v, count = variable([1.0]), tf.placeholder(tf.int32, [])
    result = turns(lambda a: a * v.read_value(), count, tf.ones([1]))
    with tf.Session() as session:
        assert session.run(result, {count: 0}) == [1.0]
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(result, {count: 1})
