"""Errors that are known before a step runs, but belong where the operation would run."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


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


def test_sizes_that_are_known_fold_where_others_are_not(monkeypatch):
    from stillflow.runtime.plan import placing

    kinds = []
    place = placing.place_in_memory
    monkeypatch.setattr(
        placing,
        "place_in_memory",
        lambda steps, *rest: (kinds.extend(s.op.type for s in steps), place(steps, *rest))[1],
    )
    x = tf.placeholder(tf.float32, [None, None])
    state = tf.zeros([tf.shape(x)[0], 2]) + tf.cast(tf.shape(x)[::-1][1], tf.float32)
    ended = tf.cast(tf.shape(x)[-1], tf.float32)
    with tf.Session() as session:
        for length in (3, 4, 5, 6):
            if length < 6:
                kinds.clear()  # of the first two plans, which are for one length each
            states, last = session.run([state, ended], {x: np.ones((4, length))})
            assert (states.shape, states[0, 0], last) == ((4, 2), 4, length)
    assert "Fill" not in kinds
    assert kinds.count("StridedSlice") == 1


def test_a_shape_that_is_fed_is_taken_as_it_is_fed():
    x = tf.placeholder(tf.float32, [None, None])
    shape = tf.shape(x)
    first, twice = shape[0], tf.concat([shape, shape[:1]], 0)
    with tf.Session() as session:
        for length in (3, 4, 5):
            values = session.run([first, twice], {x: np.ones((2, length)), shape: [7, 8]})
            assert values[0] == 7
            assert values[1].tolist() == [7, 8, 7]
