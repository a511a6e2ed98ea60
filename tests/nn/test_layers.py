"""Small compositions: sums with biases, fractions of zeros, averages of losses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

X, W, B = np.float32([[1, -2]]), np.float32([[1, 2, 3], [3, 2, 1]]), np.float32([0.5, 0, -1])


def test_a_layer_is_a_product_and_a_bias():
    plain, cut = run([tf.nn.xw_plus_b(X, W, B), tf.nn.relu_layer(X, W, B)])
    np.testing.assert_array_equal(plain, X @ W + B)
    np.testing.assert_array_equal(cut, np.maximum(X @ W + B, 0))


def test_zeros_are_counted():
    x = tf.placeholder(tf.float32)
    share = tf.nn.zero_fraction(x)
    assert run(share, {x: [0, 1, 0, -1]}) == 0.5
    assert np.isnan(run(share, {x: np.zeros(0)}))


def test_swish_has_the_gradient_of_its_formula():
    x = tf.constant(np.linspace(-4, 4, 9).astype(np.float32))
    y = tf.nn.swish(x)
    plain = x * tf.sigmoid(x)
    found = run([y, plain, tf.gradients(y, x)[0], tf.gradients(plain, x)[0]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[3], rtol=1e-5, atol=1e-6)


def test_a_vector_of_length_zero_stays_finite():
    x = np.float32([[3, 4], [0, 0]])
    np.testing.assert_allclose(run(tf.nn.l2_normalize(x, 1)), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_losses_are_averaged_over_the_global_batch():
    loss = tf.nn.compute_average_loss([2.0, 4.0, 6.0], [1.0, 0.5, 0.0], global_batch_size=4)
    assert run(loss) == 1.0


@pytest.mark.parametrize("name", ["softmax", "l2_normalize", "moments"])
def test_functions_of_the_second_version_take_axis_and_keepdims(name):
    x = np.float32([[1, 2], [3, 5]])
    nn = tf.compat.v2.nn
    if name == "moments":
        mean, _ = run(nn.moments(x, axes=[0], keepdims=True))
        np.testing.assert_array_equal(mean, [[2, 3.5]])
    else:
        first, second = run([getattr(tf.nn, name)(x, axis=0), getattr(nn, name)(x, axis=0)])
        np.testing.assert_array_equal(first, second)


def test_separable_convolutions_mix_channels_after_the_windows():
    x = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2) / 10
    depthwise = np.arange(36, dtype=np.float32).reshape(3, 3, 2, 2) / 20
    pointwise = np.arange(12, dtype=np.float32).reshape(1, 1, 4, 3) / 5
    y = tf.nn.separable_conv2d(x, depthwise, pointwise, [1, 1, 1, 1], "SAME")
    first = tf.nn.depthwise_conv2d(x, depthwise, [1, 1, 1, 1], "SAME")
    a, b = run([y, first])
    np.testing.assert_allclose(a, b @ pointwise[0, 0], rtol=1e-5)
    with pytest.raises(ValueError, match="is not a multiple of input depth of filter"):
        tf.nn.separable_conv2d(x, depthwise, pointwise[:, :, :3], [1, 1, 1, 1], "SAME")
