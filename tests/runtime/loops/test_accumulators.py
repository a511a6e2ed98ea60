"""Sums of products over the iterations of a loop: accumulated in place, without other effects."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

TURNS = 4
RNG = np.random.RandomState(0)
LEFT = RNG.randn(TURNS, 3, 5, 4).astype(np.float32)
RIGHT = RNG.randn(TURNS, 3, 5, 6).astype(np.float32)


@pytest.fixture
def in_place(monkeypatch):
    """Return the names of variables that loops write into, one set for each compiled loop."""
    from stillflow.runtime.loops import code

    found = []

    def spy(code, shapes):
        found.append(add_in_place(code, shapes))
        return found[-1]

    add_in_place = code.add_in_place
    monkeypatch.setattr(code, "add_in_place", spy)
    return found


def summed(start, multiply, turns=TURNS, left=LEFT, right=RIGHT, also=None):
    """Return the loop `sum += multiply(left[i], right[i])`."""
    left, right = tf.constant(left), tf.constant(right)

    def turn(i, total):
        later = total + multiply(left[i], right[i])
        return i + 1, later if also is None else also(total, later)

    return tf.while_loop(lambda i, _: i < turns, turn, [0, start], back_prop=False)[1]


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batches", [False, True])
def test_products_of_all_kinds_are_summed(transpose_a, transpose_b, batches, in_place):
    left = LEFT if batches else LEFT[:, 0]
    right = RIGHT if batches else RIGHT[:, 0]
    left = left if transpose_a else np.swapaxes(left, -1, -2)
    right = np.swapaxes(right, -1, -2) if transpose_b else right
    expected = np.einsum("...ki,...kj->...ij", LEFT, RIGHT).sum(0) + 1
    expected = expected if batches else np.einsum("tki,tkj->ij", LEFT[:, 0], RIGHT[:, 0]) + 1
    total = summed(
        tf.ones(expected.shape),
        lambda a, b: tf.matmul(a, b, transpose_a, transpose_b),
        left=left,
        right=right,
    )
    with tf.Session() as session:
        for _ in range(2):  # the start is a constant of the plan, and must stay one
            np.testing.assert_allclose(session.run(total), expected, rtol=1e-4, atol=1e-4)
    assert gpu_count() or len(in_place[0]) == 1


def product(a, b):
    return tf.matmul(a[0], b[0], transpose_a=True)


def test_what_the_sum_starts_with_stays_as_it_is():
    variable = tf.Variable(tf.ones([4, 6]))
    fed = tf.placeholder(tf.float32, [4, 6])
    data = np.ones((4, 6), np.float32)
    totals = [summed(variable, product), summed(fed, product)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(totals, {fed: data})
        np.testing.assert_array_equal(first, second)
        assert (session.run(variable) == 1).all()
    assert (data == 1).all()


def test_without_turns_the_sum_is_its_start():
    with tf.Session() as session:
        assert (session.run(summed(tf.ones([4, 6]), product, turns=0)) == 1).all()


def test_a_sum_that_is_looked_at_on_the_way_is_not_written_over(in_place):
    shape = [tf.TensorShape([]), tf.TensorShape([4, 6]), tf.TensorShape([4, 6])]
    left, right = tf.constant(LEFT), tf.constant(RIGHT)

    def turn(i, total, before):
        del before
        return i + 1, total + product(left[i], right[i]), total

    start = [0, tf.zeros([4, 6]), tf.zeros([4, 6])]
    _, total, before = tf.while_loop(lambda i, *_: i < TURNS, turn, start, shape)
    with tf.Session() as session:
        values = session.run([total, before])
    products = np.einsum("tki,tkj->tij", LEFT[:, 0], RIGHT[:, 0])
    np.testing.assert_allclose(values[0], products.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values[1], products[:-1].sum(0), rtol=1e-4, atol=1e-5)
    assert not in_place[0]


def test_a_sum_that_broadcasts_is_left_alone(in_place):
    total = summed(tf.ones([1, 6]), lambda a, b: tf.matmul(a[0][:1], b[0][:4]), left=LEFT)
    wide = summed(tf.ones([4, 6]), lambda a, b: tf.matmul(a[0][:1], b[0][:4]), left=LEFT)
    rows = np.einsum("tk,tkj->j", LEFT[:, 0, 0], RIGHT[:, 0, :4])
    with tf.Session() as session:
        found = session.run([total, wide])
    np.testing.assert_allclose(found[0], rows[None] + 1, rtol=1e-4)
    np.testing.assert_allclose(found[1], np.tile(rows + 1, (4, 1)), rtol=1e-4)
    assert sorted(map(len, in_place)) == [0, 1]


def test_gradients_of_weights_equal_those_of_the_unrolled_graph(in_place):
    weight = tf.Variable(RNG.randn(5, 5).astype(np.float32) / 3)
    start = tf.constant(LEFT[0, 0].T)

    def turn(state):
        return tf.tanh(tf.matmul(state, weight))

    unrolled = start
    for _ in range(TURNS):
        unrolled = turn(unrolled)
    _, looped = tf.while_loop(lambda i, _: i < TURNS, lambda i, s: (i + 1, turn(s)), [0, start])
    slopes = [tf.gradients(tf.reduce_sum(end**2), weight)[0] for end in (unrolled, looped)]
    second = [tf.gradients(tf.reduce_sum(slope**2), weight)[0] for slope in slopes[:1]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(slopes)
        assert np.isfinite(session.run(second)).all()
    np.testing.assert_allclose(values[1], values[0], rtol=1e-5, atol=1e-6)
    assert gpu_count() or any(in_place)
