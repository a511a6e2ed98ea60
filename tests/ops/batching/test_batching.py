"""Runs in several threads whose inputs are computed together."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.batching.functions import batch, batch_function_v1, unbatch

SECOND = 1000000

pytestmark = pytest.mark.usefixtures("graph")


def at_once(session, fetches, feeds):
    """Return the results, or errors, of runs in threads of their own."""
    found = [None] * len(feeds)

    def run(number):
        try:
            found[number] = session.run(fetches, feeds[number])
        except tf.errors.OpError as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return found


def counted(calls):
    def count(x):
        calls.append(len(x))
        return x

    return lambda x: tf.reshape(tf.py_func(count, [x], x.dtype), tf.shape(x))


def test_one_call_serves_all_runs():
    x, calls = tf.placeholder(tf.float32, [None, 2]), []
    seen = counted(calls)

    @tf.nondifferentiable_batch_function(1, 6, 20 * SECOND)
    def double(rows):
        return seen(rows) * 2

    y = double(x)
    feeds = [{x: np.full((2, 2), number)} for number in range(3)]
    with tf.Session() as session:
        found = at_once(session, y, feeds)
    for number, (rows,) in enumerate(found):
        np.testing.assert_array_equal(rows, np.full((2, 2), 2 * number))
    assert calls == [6]


def test_many_runs_get_their_own_rows():
    x = tf.placeholder(tf.int32, [None])
    weight = tf.get_variable("w", initializer=3, use_resource=True)

    @tf.contrib.batching.batch_function(2, 7, 1000, allowed_batch_sizes=[4, 7])
    def times(rows):
        return rows * weight, tf.as_string(rows)

    y = times(x)
    feeds = [{x: np.arange(number % 4 + 1) + 10 * number} for number in range(24)]
    with tf.Session() as session:
        session.run(weight.initializer)
        found = at_once(session, y, feeds)
    for feed, (tripled, words) in zip(feeds, found, strict=True):
        np.testing.assert_array_equal(tripled, feed[x] * 3)
        assert [int(word) for word in words] == feed[x].tolist()


def test_the_run_that_came_last_has_the_batch_the_others_have_nothing():
    x = tf.placeholder(tf.string, [None])
    (joined,), index, key = batch(
        [x], num_batch_threads=1, max_batch_size=2, batch_timeout_micros=20 * SECOND,
        grad_timeout_micros=0,
    )  # fmt: skip
    with tf.Session() as session:
        found = at_once(session, [joined, index, key], [{x: ["a"]}, {x: ["b"]}])
    found.sort(key=lambda values: len(values[0]))
    (empty, no_rows, first), (both, rows, last) = found
    assert (empty.shape, no_rows.shape) == ((0,), (0, 3))
    assert sorted(both) == [b"a", b"b"]
    assert {row[0] for row in rows.tolist()} == {first, last}
    assert [row[1:] for row in rows.tolist()] == [[0, 1], [1, 2]]


def test_gradients_go_through_batches():
    x = tf.placeholder(tf.float32, [None])

    @batch_function_v1(1, 2, 20 * SECOND)
    def square(rows):
        return rows * rows

    y = square(x)
    (grad,) = tf.gradients(y, x)
    with tf.Session() as session:
        found = at_once(session, [y, grad], [{x: [3.0]}, {x: [5.0]}])
    np.testing.assert_array_equal(np.ravel(found), [9, 6, 25, 10])


def test_an_error_comes_to_all_runs_of_a_batch():
    x = tf.placeholder(tf.int32, [None])

    @tf.nondifferentiable_batch_function(1, 2, 20 * SECOND)
    def chosen(rows):
        return tf.gather([1, 2, 3], rows)

    y = chosen(x)
    with tf.Session() as session:
        found = at_once(session, y, [{x: [1]}, {x: [7]}])
        assert all(isinstance(error, tf.errors.InvalidArgumentError) for error in found)
        assert all("indices[" in error.message for error in found)
        good = at_once(session, y, [{x: [0]}, {x: [2]}])
    assert sorted(rows[0] for (rows,) in good) == [1, 3]


def test_runs_are_refused_when_too_many_batches_wait():
    x, go_on, refused = tf.placeholder(tf.int32, [None]), threading.Event(), threading.Event()

    @tf.nondifferentiable_batch_function(1, 1, 0, max_enqueued_batches=1)
    def slow(rows):
        waited = tf.py_func(lambda: np.int32(not go_on.wait(20)), [], tf.int32)
        return rows + waited

    y, results, errors = slow(x), [], []

    def run(session, n):
        try:
            results.append(session.run(y, {x: [n]}))
        except tf.errors.UnavailableError as error:
            errors.append(str(error))
            refused.set()

    with tf.Session() as session:
        threads = [threading.Thread(target=run, args=(session, n)) for n in range(3)]
        for thread in threads:  # one is computed, one waits, one fails
            thread.start()
        assert refused.wait(20)
        go_on.set()
        for thread in threads:
            thread.join(20)
    assert len(results) == 2 and len(errors) == 1 and "submitted is full" in errors[0]


def test_what_does_not_come_in_time_is_an_error():
    rows, index = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [None, 3])
    part = unbatch(rows, index, tf.constant(1, tf.int64), timeout_micros=10000)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.DeadlineExceededError, match="within timeout window"),
    ):
        session.run(part, {rows: [], index: np.zeros((0, 3))})


def test_the_end_of_a_session_ends_what_waits_for_a_batch():
    x = tf.placeholder(tf.int32, [None])
    y = tf.nondifferentiable_batch_function(1, 2, 20 * SECOND)(lambda rows: rows + 1)(x)
    session, found = tf.Session(), []

    def run():
        try:
            session.run(y, {x: [1]})
        except tf.errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(10)
    assert not thread.is_alive()
    assert isinstance(found[0], tf.errors.CancelledError)


def test_time_limits_end_what_waits_for_a_batch():
    x = tf.placeholder(tf.int32, [None])
    y = tf.nondifferentiable_batch_function(1, 2, 20 * SECOND)(lambda rows: rows + 1)(x)
    options = tf.RunOptions(timeout_in_ms=200)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(y, {x: [1]}, options=options)
        found = at_once(session, y, [{x: [4]}, {x: [5]}])  # the cancelled run is not in the batch
    assert sorted(rows[0] for (rows,) in found) == [5, 6]


def test_a_batch_that_was_given_up_does_not_close_the_next_one():
    x, calls = tf.placeholder(tf.int32, [None]), []
    seen = counted(calls)
    y = tf.nondifferentiable_batch_function(1, 2, 2 * SECOND)(seen)(x)
    options = tf.RunOptions(timeout_in_ms=1000)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(y, {x: [1]}, options=options)
        found = []
        thread = threading.Thread(target=lambda: found.append(session.run(y, {x: [2]})))
        thread.start()
        time.sleep(1.3)  # the first batch would have been closed by now
        found.append(session.run(y, {x: [3]}))
        thread.join(10)
    assert calls == [2]
    assert sorted(rows[0] for (rows,) in found) == [2, 3]
