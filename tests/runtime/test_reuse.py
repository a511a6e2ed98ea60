"""Slopes written over gradients: only where nobody needs the gradient any more."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

SIZE = 1 << 14
RULES = {"relu": tf.nn.relu, "tanh": tf.tanh, "sigmoid": tf.sigmoid}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


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


def test_a_fed_gradient_is_never_written_over():
    fed = np.ones(SIZE, np.float32)
    x, grad = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    slope = tf.gradients(tf.tanh(x), x, grad_ys=grad)[0]
    with tf.Session() as session:
        session.run(slope, {x: np.ones(SIZE, np.float32), grad: fed})
    assert (fed == 1).all()
