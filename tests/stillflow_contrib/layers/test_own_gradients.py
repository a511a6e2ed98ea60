"""Layers of tf.contrib.layers that have gradients of their own."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

layers = tf.contrib.layers
X = np.sin(np.arange(12.0)).reshape(3, 4).astype(np.float32)

pytestmark = pytest.mark.usefixtures("graph")


def dense(x):
    return tf.layers.dense(x, 2, activation=tf.nn.tanh, kernel_initializer=tf.ones_initializer())


def gradients_of(is_training):
    with tf.variable_scope("efficient" if is_training else "plain", use_resource=True):
        x = tf.constant(X)
        x1, x2 = tf.split(x, 2, axis=1)
        y1, y2 = layers.rev_block(x1, x2, dense, dense, num_layers=3, is_training=is_training)
        variables = tf.trainable_variables(tf.get_variable_scope().name)
    return tf.gradients(tf.reduce_sum(y1 * y2), [x, *variables])


def test_recomputed_activations_give_the_same_gradients():
    kept, recomputed = gradients_of(False), gradients_of(True)
    assert len(kept) == len(recomputed) == 13
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for first, second in zip(*session.run([kept, recomputed])):
            np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)


def test_gradients_are_scaled():
    x = tf.constant([[1.0, 2.0]])
    out = layers.scale_gradient(x, tf.constant([0.5, 2.0]))
    with tf.Session() as session:
        value, grad = session.run([out, tf.gradients(out * 3.0, x)[0]])
    np.testing.assert_array_equal(value, [[1.0, 2.0]])
    np.testing.assert_array_equal(grad, [[1.5, 6.0]])


def test_a_function_that_closes_over_a_tensor_is_refused():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="closes over Tensor"):
        layers.recompute_grad(lambda y: x * y)


def test_variables_made_anew_are_refused():
    def fn(y):
        return tf.layers.dense(y, 2, name=f"dense{len(tf.trainable_variables())}")

    with tf.variable_scope("scope", use_resource=True):
        out = layers.recompute_grad(fn)(tf.constant(X))
    with pytest.raises(ValueError):
        tf.gradients(out, tf.trainable_variables())
