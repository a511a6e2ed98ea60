"""Unordered reads and writes of a variable: in the order of TensorFlow's executor.

What TensorFlow answers is on record in the golden programs `runtime/unordered_variables`.
"""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.schedule.operations import by_accesses
from stillflow.runtime.schedule.prune import needed_ops

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def model():
    """Return a number that a model computes; it is 1 if the model's weights are as they began."""
    weights = tf.Variable(tf.ones([2, 2]), name="weights")
    return tf.reduce_mean(tf.matmul(tf.random_uniform([2, 2]) * 0.0 + 0.5, weights))


def order(*fetches, fed=()):
    targets = [each.op if isinstance(each, tf.Tensor) else each for each in fetches]
    return by_accesses(needed_ops([], targets, fed), fed)


def run(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(fetches)
        return first, session.run(tf.trainable_variables())


@pytest.mark.parametrize("use_resource", [False, True])
def test_later_reads_come_before_writes_of_what_a_model_computes(use_resource):
    v = tf.Variable(5.0, use_resource=use_resource)
    write = v.assign(model())
    (twice, _), _ = run(v * 2.0, write)
    assert twice == 10.0


@pytest.mark.parametrize("use_resource", [False, True])
def test_writes_that_wait_for_variables_alone_come_first_beside_a_model(use_resource):
    v = tf.Variable(5.0, use_resource=use_resource)
    twice, loss = v * 2.0, model()
    (found, _, _), _ = run(twice, loss, v.assign(v + 1.0).op)
    assert found == 12.0


def test_without_a_model_operations_keep_their_order():
    v = tf.Variable(5.0)
    twice = v * 2.0
    (found, _), _ = run(twice, v.assign(v + 1.0).op)
    assert found == 10.0


def test_what_waits_for_what_is_fed_comes_after_reads_of_references_only():
    x = tf.placeholder(tf.float32, [3])
    for use_resource, expected in ((False, 10.0), (True, 6.0)):
        v = tf.Variable(5.0, use_resource=use_resource)
        write = v.assign(tf.reduce_sum(tf.square(x)))
        twice = v * 2.0
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run([twice, write], {x: [1, 1, 1]})[0] == expected


def test_weights_are_clipped_before_they_are_updated():
    loss = model()
    (weights,) = tf.trainable_variables()
    update = weights.assign_add(tf.ones([2, 2]) * loss)
    clip = weights.assign(tf.clip_by_value(weights, -0.5, 0.5))
    _, (after,) = run(update.op, clip.op)
    np.testing.assert_array_equal(after, np.full([2, 2], 1.0))  # 0.5, and half a loss of 1


def test_a_moving_average_takes_weights_as_they_were():
    loss = model()
    (weights,) = tf.trainable_variables()
    train = weights.assign_add(tf.ones([2, 2]) * loss)
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([weights])
    operations = [op.type for op in order(train, update)]
    assert operations.index("AssignSub") < operations.index("AssignAdd")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([train.op, update])
        average, now = session.run([averages.average(weights), weights])
    assert average[0, 0] == 1.0
    assert now[0, 0] == 2.0


def test_two_writes_that_need_each_others_variables_keep_their_order():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    writes = [a.assign(b + 1.0).op, b.assign(a + 1.0).op]
    run_ops = order(model(), *writes)
    assert [op for op in run_ops if op in writes] == writes


def test_what_a_lock_orders_stays_as_it_is():
    v = tf.Variable(5.0, use_resource=True)
    section = tf.CriticalSection()
    write = section.execute(lambda: v.assign(model()))
    operations = needed_ops([], [write.op, (v * 2.0).op], ())
    assert by_accesses(operations, ()) == operations


def test_loops_are_waited_for_too():
    v = tf.Variable(5.0)
    total = tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [0.0])
    write = v.assign(total)
    (twice, _), _ = run(v * 2.0, write)
    assert twice == 10.0


def test_what_comes_out_of_an_iterator_is_a_models_input():
    v = tf.Variable(5.0, use_resource=True)
    number = tf.data.Dataset.from_tensors(3.0).repeat().make_one_shot_iterator().get_next()
    write = v.assign(number)
    (twice, _), _ = run(v * 2.0, write)
    assert twice == 10.0
