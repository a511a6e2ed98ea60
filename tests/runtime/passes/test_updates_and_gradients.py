"""Steps that are computed together."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.nn import convolution, pool_kernels

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def counted(monkeypatch):
    """Return a list that counts the calls of a module's function."""
    calls = []

    def count(module, name):
        function = getattr(module, name)

        def counting(*args):
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(module, name, counting)
        return calls

    return count


def run(fetches, feeds):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def image(*shape):
    return np.random.RandomState(3).permutation(int(np.prod(shape))).reshape(shape).astype("f")


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [1, 2])
def test_a_pool_and_its_gradient_look_for_maxima_once(counted, padding, strides):
    calls = counted(pool_kernels, "max_pool_with_places")
    x = tf.placeholder(tf.float32, [2, 5, 4, 3])
    y = tf.nn.max_pool(x, 2, strides, padding)
    (grad,) = tf.gradients(y, x)
    feeds = {x: image(2, 5, 4, 3)}
    together = run([y, grad], feeds)
    assert len(calls) == 1
    np.testing.assert_array_equal(together[0], run(y, feeds))
    fed = tf.raw_ops.MaxPoolGrad(
        orig_input=feeds[x], orig_output=together[0], grad=np.ones_like(together[0]),
        ksize=[1, 2, 2, 1], strides=[1, strides, strides, 1], padding=padding,
    )  # fmt: skip
    np.testing.assert_array_equal(together[1], run(fed, {}))


def test_pools_of_other_windows_are_not_mistaken_for_one(counted):
    calls = counted(pool_kernels, "max_pool_with_places")
    x = tf.placeholder(tf.float32, [1, 6, 6, 1])
    small, large = tf.nn.max_pool(x, 2, 2, "VALID"), tf.nn.max_pool(x, 3, 3, "VALID")
    grads = [tf.gradients(y, x)[0] for y in (small, large)]
    found = run(grads, {x: np.arange(36, dtype="f").reshape(1, 6, 6, 1)})
    assert len(calls) == 2
    assert [np.flatnonzero(grad).tolist() for grad in found] == [
        [7, 9, 11, 19, 21, 23, 31, 33, 35],
        [14, 17, 32, 35],
    ]


def test_a_pool_no_window_of_which_fits_has_a_gradient():
    x = tf.placeholder(tf.float32, [None, None, None, 1])
    y = tf.nn.max_pool(x, 3, 1, "VALID")
    found = run([y, tf.gradients(y, x)[0]], {x: np.ones((1, 2, 3, 1))})
    assert found[0].size == 0
    np.testing.assert_array_equal(found[1], np.zeros((1, 2, 3, 1)))


def test_a_pool_outside_of_a_branch_serves_the_gradient_inside():
    x, wanted = tf.placeholder(tf.float32, [1, 4, 4, 1]), tf.placeholder(tf.bool)
    y = tf.nn.max_pool(x, 2, 2, "VALID")
    grad = tf.cond(wanted, lambda: tf.gradients(y, x)[0], lambda: tf.zeros_like(x))
    values = image(1, 4, 4, 1)
    for choice in (True, False):
        pooled, found = run([y, grad], {x: values, wanted: choice})
        np.testing.assert_array_equal(found != 0, np.isin(values, pooled) & choice)


def test_both_gradients_of_a_convolution_take_one_call(counted, cpu):
    calls = counted(convolution, "both_gradients")
    x, w = tf.placeholder(tf.float32, [2, 5, 4, 3]), tf.placeholder(tf.float32, [3, 3, 3, 2])
    y = tf.nn.conv2d(x, w, 1, "SAME")
    feeds = {x: image(2, 5, 4, 3), w: image(3, 3, 3, 2)}
    grads = tf.gradients(y, [x, w])
    together = run(grads, feeds)
    assert len(calls) == 1
    for grad, value in zip(grads, together, strict=True):
        np.testing.assert_allclose(run(grad, feeds), value, rtol=1e-5)
    assert len(calls) == 1


def test_a_gradient_that_is_needed_for_the_other_is_not_joined_with_it():
    x, w = tf.placeholder(tf.float32, [1, 3, 3, 1]), tf.placeholder(tf.float32, [3, 3, 1, 1])
    y = tf.nn.conv2d(x, w, 1, "SAME")
    first, _ = tf.gradients(y, [x, w])
    second = tf.raw_ops.Conv2DBackpropFilter(
        input=first, filter_sizes=[3, 3, 1, 1], out_backprop=tf.ones_like(y), strides=[1, 1, 1, 1],
        padding="SAME",
    )  # fmt: skip
    feeds = {x: image(1, 3, 3, 1), w: image(3, 3, 1, 1)}
    found, grad = run([second, first], feeds)
    padded = np.pad(grad[0, :, :, 0], 1)
    expected = [[padded[i : i + 3, j : j + 3].sum() for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(found[:, :, 0, 0], expected, rtol=1e-5)


def test_gradients_of_different_convolutions_are_not_joined():
    x, w = tf.placeholder(tf.float32, [1, 3, 3, 2]), tf.placeholder(tf.float32, [1, 1, 2, 1])
    z, v = tf.placeholder(tf.float32, [1, 3, 3, 3]), tf.placeholder(tf.float32, [1, 1, 3, 1])
    y = tf.nn.conv2d(x, w, 1, "SAME") + tf.nn.conv2d(z, v, 1, "SAME")
    feeds = {tensor: image(*tensor.shape.as_list()) for tensor in (x, w, z, v)}
    for wanted in ([w, z], [x, v], [z, w], [v, x]):
        found = run(tf.gradients(y, wanted), feeds)
        for tensor, grad in zip(wanted, found, strict=True):
            other = {x: w, w: x, z: v, v: z}[tensor]
            expected = np.zeros_like(feeds[tensor])
            expected += (
                feeds[other].sum((0, 1, 2))[:, None]
                if tensor in (w, v)
                else (feeds[other][0, 0, :, 0])
            )
            np.testing.assert_allclose(grad, expected, rtol=1e-5)
