"""Plans of their own for each of the truth values that are fed."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.plan import plan

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def known(monkeypatch):
    """Return the facts that the plans know about feeds, by name."""
    found = []
    make = plan.make_plan

    def noting(resources, request):
        found.append({tensor.op.name: bool(value) for tensor, value in request.known.items()})
        return make(resources, request)

    monkeypatch.setattr(plan, "make_plan", noting)
    return found


def flags(*names):
    return [tf.placeholder(tf.bool, [], name=name) for name in names]


def test_each_value_has_a_plan(known):
    (training,) = flags("training")
    x = tf.placeholder(tf.float32, [None])
    y = tf.cond(training, lambda: x * 2.0, lambda: x + 1.0)
    slope = tf.gradients(y, x)[0]
    with tf.Session() as session:
        for value in (True, False, np.True_, False):
            found = session.run([y, slope], {x: [3.0, 4.0], training: value})
            np.testing.assert_array_equal(found, [[6, 8], [2, 2]] if value else [[4, 5], [1, 1]])
    assert known == [{"training": True}, {"training": False}]


def test_layers_that_train_or_not_do_what_constants_have_them_do():
    numbers = np.random.RandomState(0).randn(4, 6, 6, 3).astype(np.float32)

    def losses(training, feeds):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 6, 6, 3])
            flag = tf.placeholder(tf.bool, []) if feeds else training
            start = tf.random_uniform_initializer(seed=5)  # no number of operations decides it
            y = tf.layers.conv2d(x, 4, 3, kernel_initializer=start)
            y = tf.layers.batch_normalization(y, training=flag)
            loss = tf.reduce_mean(tf.square(tf.layers.dropout(y, 0.5, seed=1, training=flag)))
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                train = tf.train.AdamOptimizer().minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                fed = {x: numbers, flag: training} if feeds else {x: numbers}
                return [session.run([loss, train], fed)[0] for _ in range(3)]

    for training in (True, False):
        np.testing.assert_allclose(losses(training, True), losses(training, False), rtol=1e-6)


def test_many_truth_values_share_a_plan(known):
    several = flags("a", "b", "c", "d")
    count = tf.add_n([tf.cast(flag, tf.int32) for flag in several])
    with tf.Session() as session:
        for number in range(5):
            feeds = {flag: place < number for place, flag in enumerate(several)}
            assert session.run(count, feeds) == number
        assert session.run(tf.logical_and(*several[:2]), {several[0]: True, several[1]: True})
    assert known == [{}, {"a": True, "b": True}]


def test_vectors_decide_nothing(known):
    mask = tf.placeholder(tf.bool, [2])
    with tf.Session() as session:
        assert session.run(tf.reduce_any(mask), {mask: [False, True]})
    assert known == [{}]


def test_a_flag_is_given_back_as_it_was_fed():
    training, other = flags("training", "other")
    with tf.Session() as session:
        for value in (True, False):
            feeds = {training: value, other: not value}
            given, opposite, made = session.run([training, other, tf.identity(training)], feeds)
            assert isinstance(given, np.ndarray)
            assert (given, opposite, made) == (value, not value, value)
            given[...] = not value  # it is the program's own
            assert session.run(training, feeds) == value


def test_of_a_branch_that_is_not_taken_nothing_can_be_fetched():
    (training,) = flags("training")
    _, taken = tf.raw_ops.Switch(data=tf.constant(1.0), pred=training)
    with tf.Session() as session:
        assert session.run(taken * 2.0, {training: True}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(taken * 2.0, {training: False})


def test_loops_and_functions_know_it_as_well(known):
    (training,) = flags("training")

    def turn(i, x):
        return i + 1, tf.cond(training, lambda: x * 2.0, lambda: x + 1.0)

    _, looped = tf.while_loop(lambda i, x: i < 3, turn, (0, tf.constant(1.0)))

    @tf.function
    def called(flag, x):
        return x * 3.0 if flag else x

    result = looped + called(training, tf.constant(2.0))
    with tf.Session() as session:
        assert session.run(result, {training: True}) == 14.0
        assert session.run(result, {training: False}) == 6.0
    assert known == [{"training": True}, {"training": False}]


def test_batches_of_any_size_come_under_either_value():
    (training,) = flags("training")
    dataset = tf.data.Dataset.range(7).batch(3)
    batch = dataset.make_one_shot_iterator().get_next()
    shown = tf.cond(training, lambda: batch * 10, lambda: batch)
    with tf.Session() as session:
        assert session.run(shown, {training: True}).tolist() == [0, 10, 20]
        assert session.run(shown, {training: False}).tolist() == [3, 4, 5]
        assert session.run(shown, {training: True}).tolist() == [60]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(shown, {training: False})


def test_a_variable_is_assigned_on_the_side_that_is_taken():
    (training,) = flags("training")
    count = tf.Variable(0)
    with tf.control_dependencies([tf.cond(training, lambda: count.assign_add(1), lambda: count)]):
        done = tf.no_op()
    with tf.Session() as session:
        session.run(count.initializer)
        for value in (True, False, True):
            session.run(done, {training: value})
        assert session.run(count) == 2
