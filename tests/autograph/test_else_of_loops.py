"""`else` of loops in converted functions: Python's meaning, where TensorFlow drops it."""

from __future__ import annotations

import stillflow as tf


def after_while(count):
    step = last = 0
    while step < count:
        step += 1
    else:
        last = 7
    return last


def after_for(count):
    last = 0
    for step in tf.range(count):
        if step > 1:
            break
    else:
        last = 7
    return last


def results(function, counts):
    """Return the results of a function by the number of iterations, given as a tensor."""
    converted = tf.function(function)
    outputs = [converted(tf.constant(count)) for count in counts]
    with tf.Session() as session:
        return session.run(outputs)


def test_else_runs_after_a_loop_that_is_not_left():
    assert results(after_while, [3, 0]) == [7, 7]


def test_else_does_not_run_after_break():
    assert results(after_for, [3, 1, 0]) == [0, 7, 7]
