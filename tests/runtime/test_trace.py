"""Errors that are known before a step runs, but belong where the operation would run."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_check_that_shapes_fit_speaks_before_the_operation_that_they_do_not_fit():
    x = tf.placeholder(tf.float32)
    fits = tf.Assert(tf.equal(tf.size(x), 3), ["x has another size"])
    with tf.control_dependencies([fits]):
        y = x + tf.ones([3])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="x has another size"),
    ):
        session.run(y, {x: [1.0, 2.0]})


def test_shapes_that_do_not_fit_matter_only_in_the_branch_that_is_taken():
    taken, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32)
    y = tf.cond(taken, lambda: x + tf.ones([3]), lambda: x * 2)
    with tf.Session() as session:
        np.testing.assert_equal(session.run(y, {taken: False, x: [1.0, 2.0]}), [2.0, 4.0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
            session.run(y, {taken: True, x: [1.0, 2.0]})


@pytest.mark.parametrize("what", ["tensor", "operation", "what depends on it"])
def test_an_operation_that_cannot_run_is_named_whatever_is_asked_for(what):
    x = tf.placeholder(tf.float32)
    y = tf.add(x, tf.ones([3]), name="sum")
    fetch = {"tensor": y, "operation": y.op, "what depends on it": y * 2}[what]
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as refused:
                session.run(fetch, {x: [1.0, 2.0]})
            assert refused.value.op is y.op


@pytest.mark.parametrize("grows", [False, True])
def test_the_size_of_an_array_that_never_grows_is_known_before_it_is_filled(grows):
    x = tf.placeholder(tf.float32, [None, 3])
    array = tf.TensorArray(tf.float32, size=tf.shape(x)[0], dynamic_size=grows).unstack(x)
    array = array.write(5, x[0]) if grows else array
    with tf.Session() as session:
        stacked, size = session.run([array.stack(), array.size()], {x: np.ones((5, 3))})
    assert (len(stacked), size) == (5 + grows, 5 + grows)


def test_a_closed_array_has_no_size():
    array = tf.TensorArray(tf.float32, size=3)
    with tf.control_dependencies([array.close()]):
        size = array.size()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="closed"):
        session.run(size)
