"""Slopes written over gradients: only where nobody needs the gradient any more."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

SIZE = 1 << 14
RULES = {"relu": tf.nn.relu, "tanh": tf.tanh, "sigmoid": tf.sigmoid}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("needed_later", [False, True])
def test_a_slope_over_a_gradient_leaves_every_fetched_value_right(name, needed_later):
    rng = np.random.RandomState(0)
    data, upper = rng.randn(SIZE).astype(np.float32), rng.randn(SIZE).astype(np.float32)
    x, weight = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    y = RULES[name](x)
    gradient = weight * 2.0
    slope = tf.gradients(y, x, grad_ys=gradient)[0]
    fetches = [slope + 1.0, gradient * 3.0] if needed_later else [slope + 1.0]
    with tf.Session() as session:
        values = session.run(fetches, {x: data, weight: upper})
        outputs = session.run(y, {x: data})
    slopes = {"relu": data > 0, "tanh": 1 - outputs**2, "sigmoid": outputs * (1 - outputs)}
    np.testing.assert_allclose(values[0], upper * 2 * slopes[name] + 1, rtol=1e-5, atol=1e-5)
    if needed_later:
        np.testing.assert_allclose(values[1], upper * 6, rtol=1e-6)


UNARY = {
    "relu6": (tf.nn.relu6, lambda x: np.clip(x, 0, 6)), "abs": (tf.abs, np.abs),
    "log": (tf.log, np.log), "reciprocal": (tf.reciprocal, np.reciprocal),
    "pow": (lambda x: tf.pow(x, 1.5), lambda x: np.power(x, 1.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("needed_later", [False, True])
def test_results_over_arguments_leave_every_fetched_value_right(name, needed_later):
    ours, numpys = UNARY[name]
    data = np.random.RandomState(0).rand(SIZE).astype(np.float32) * 9.0 + 1.1
    x = tf.placeholder(tf.float32, [SIZE])
    sorted_x = tf.sort(x)  # a step of its own, whose result may be written over
    fetches = [tf.cumsum(ours(sorted_x)), *([tf.cumsum(sorted_x)] if needed_later else [])]
    with tf.Session() as session:
        values = session.run(fetches, {x: data})
    expected = [numpys(np.sort(data)), *([np.sort(data)] if needed_later else [])]
    for value, each in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, np.cumsum(each, dtype=np.float64), rtol=1e-4)


def test_a_fed_gradient_is_never_written_over():
    fed = np.ones(SIZE, np.float32)
    x, grad = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    slope = tf.gradients(tf.tanh(x), x, grad_ys=grad)[0]
    with tf.Session() as session:
        session.run(slope, {x: np.ones(SIZE, np.float32), grad: fed})
    assert (fed == 1).all()


GATES = 4


@pytest.mark.parametrize("whole_is_needed", [False, True])
def test_gates_are_computed_where_they_were_cut(whole_is_needed):
    rng = np.random.RandomState(1)
    data = rng.randn(128, 64).astype(np.float32)
    weight = rng.randn(64, 4 * 128).astype(np.float32) / 8
    x = tf.placeholder(tf.float32, [None, 64])
    whole = tf.matmul(x, weight)
    i, j, f, o = tf.split(whole, GATES, 1)
    new = tf.sigmoid(i) * tf.tanh(j) + tf.sigmoid(f + 1.0) * tf.sigmoid(o)
    fetches = [new, whole] if whole_is_needed else [new]
    with tf.Session() as session:
        values = session.run(fetches, {x: data})
    product = data @ weight
    a, b, c, d = np.split(product, GATES, 1)
    expected = np.tanh(b) / (1 + np.exp(-a)) + 1 / (1 + np.exp(-c - 1)) / (1 + np.exp(-d))
    np.testing.assert_allclose(values[0], expected, rtol=1e-4, atol=1e-5)
    if whole_is_needed:
        np.testing.assert_allclose(values[1], product, rtol=1e-5, atol=1e-5)


def test_a_part_that_is_fetched_is_not_written_over():
    data = np.random.RandomState(2).randn(128, 64).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 64])
    left, right = tf.split(tf.matmul(x, np.eye(64, 256, dtype=np.float32)), 2, 1)
    with tf.Session() as session:
        values = session.run([left, tf.tanh(left) + tf.tanh(right)], {x: data})
    np.testing.assert_array_equal(values[0], np.pad(data, ((0, 0), (0, 64))))
    np.testing.assert_allclose(values[1][:, :64], np.tanh(data), rtol=1e-5, atol=1e-6)
