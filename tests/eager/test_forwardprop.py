"""Jacobian-vector products in forward mode."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.forwardprop import ForwardGradientAccumulator
from stillflow.graph.eager_mode import eager_mode


@pytest.fixture(autouse=True)
def _eager():
    with eager_mode():
        yield


def pushed(function, primal, tangent):
    with ForwardGradientAccumulator() as accumulator:
        accumulator.watch(primal, tangent)
        result = function(primal)
    return accumulator.jvp(result)


def network(x):
    hidden = tf.nn.relu(tf.matmul(x, tf.constant([[1.0, -2.0], [0.5, 3.0], [1.5, 0.25]])))
    return tf.nn.log_softmax(hidden + tf.reduce_sum(x * x, 1, keepdims=True))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["plain", "function"])
def test_is_the_jacobian_times_the_vector(wrap):
    x = tf.constant([[0.5, -1.0, 2.0]])
    vector = tf.constant([[3.0, 0.25, -0.5]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = network(x)
    jacobian = tape.jacobian(y, x).numpy()
    expected = np.tensordot(jacobian, vector.numpy(), 2)
    # Some twenty products of numbers up to 10, each rounded to 6e-8 of its size.
    np.testing.assert_allclose(pushed(wrap(network), x, vector), expected, atol=2e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["plain", "function"])
def test_outer_accumulators_see_what_inner_ones_compute(wrap):
    power, primal = wrap(lambda x: x**3.5), tf.constant(1.1)
    with ForwardGradientAccumulator() as outer:
        outer.watch(primal, tf.constant(1.0))
        with ForwardGradientAccumulator() as inner:
            inner.watch(primal, tf.constant(1.0))
            result = power(primal)
    first = inner.jvp(result)
    np.testing.assert_allclose(first, 3.5 * 1.1**2.5, rtol=1e-6)
    np.testing.assert_allclose(outer.jvp(first), 3.5 * 2.5 * 1.1**1.5, rtol=1e-6)
    assert inner.jvp(outer.jvp(result)) is None


def test_goes_forward_over_a_gradient_tape():
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3)
        return tape.gradient(y, x)

    x, vector = tf.constant([1.0, 2.0]), tf.constant([3.0, -1.0])
    np.testing.assert_allclose(pushed(gradient, x, vector), 6 * x.numpy() * vector.numpy())


def test_follows_custom_gradients():
    @tf.custom_gradient
    def doubled(x):
        return x + 0.0, lambda grad: 2.0 * grad

    np.testing.assert_allclose(pushed(doubled, tf.constant(1.0), tf.constant(3.0)), 6.0)


def test_adds_tangents_of_a_tensor_that_is_watched_again():
    x = tf.constant(-2.0)
    with ForwardGradientAccumulator() as accumulator:
        accumulator.watch(x, 10.0)
        accumulator.watch([x], [11.0])
        y = 3.0 * x
    assert accumulator.jvp([x, y, tf.constant(1.0)])[2] is None
    np.testing.assert_allclose(accumulator.jvp([x, y])[0], 21.0)
    np.testing.assert_allclose(accumulator.jvp(y), 63.0)


def test_gathers_rows_and_leaves_whole_numbers_without_a_tangent():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with ForwardGradientAccumulator() as accumulator:
        accumulator.watch(x, x * 10.0)
        values, places = tf.nn.top_k(tf.gather(x, [1, 1, 0]), 1)
    np.testing.assert_allclose(accumulator.jvp(values), values.numpy() * 10.0)
    assert accumulator.jvp(places) is None


def test_tangents_end_with_their_tensors():
    x, tangent = tf.ones([100]), tf.fill([100], 2.0)
    ended = [weakref.ref(x), weakref.ref(tangent)]
    with ForwardGradientAccumulator() as accumulator:
        accumulator.watch(x, tangent)
        del x, tangent
        gc.collect()
    assert [ref() for ref in ended] == [None, None]


def test_variables_and_a_second_use_are_not_supported():
    accumulator = ForwardGradientAccumulator()
    with pytest.raises(ValueError, match="without first tracing"):
        accumulator.jvp(tf.constant(1.0))
    with accumulator, pytest.raises(NotImplementedError, match="only Tensors may be watched"):
        accumulator.watch(tf.Variable(1.0), 1.0)
    with pytest.raises(NotImplementedError, match="reuse"), accumulator:
        pass
