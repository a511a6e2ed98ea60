"""ReLU fused with its producer, with the values of single operations."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.nn import native_kernels
from stillflow.runtime.devices.devices import gpu_count

pytestmark = pytest.mark.usefixtures("graph", "either_way")


@pytest.fixture
def calls(monkeypatch):
    """Return the fused functions that plans call, in their order."""
    found = []

    def note(name):
        function = getattr(native_kernels, name)

        def noting(*args):
            found.append(name)
            return function(*args)

        monkeypatch.setattr(native_kernels, name, noting)

    note("add_relu")
    note("relu_gradients")
    note("gradient_of_sum")
    return found


def image(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("f")


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def expected(x, bias, way):
    """Return the result, and the gradients of image and bias."""
    result = np.maximum(x.astype("d") + bias, 0)
    passed = way * (result > 0)
    return result, passed, passed.reshape(-1, bias.size).sum(0)


@pytest.mark.parametrize(
    "shape", [(2, 2), (1, 5), (3, 4, 7), (2, 5, 5, 16), (40, 1100), (3, 300), (64, 8, 8, 32)]
)
@pytest.mark.parametrize("add", [tf.nn.bias_add, tf.add, lambda x, b: tf.add(b, x)])
def test_values_are_those_of_single_operations(calls, shape, add):
    x, bias = tf.placeholder(tf.float32, shape), tf.Variable(image(shape[-1], seed=1))
    way = image(*shape, seed=2)
    out = tf.nn.relu(add(tf.identity(x), bias))
    found = run([out, *tf.gradients(out, [x, bias], way)], {x: image(*shape)})
    for got, want in zip(found, expected(image(*shape), image(shape[-1], seed=1), way)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)
    assert calls[0] == "add_relu"
    assert gpu_count() or calls[1:] == ["relu_gradients"]


def test_what_is_written_over_is_not_needed_any_more():
    x = tf.placeholder(tf.float32, [64, 256])
    w = tf.constant(image(256, 256, seed=1))
    bias = tf.Variable(image(256, seed=2))
    hidden = tf.nn.relu(tf.matmul(x, w) + bias)
    again = tf.nn.relu(tf.matmul(hidden, w) + bias)
    found = run([again, *tf.gradients(again, [x, bias])], {x: image(64, 256)})
    plain = run(
        [again, *tf.gradients(again, [x, bias]), hidden, *tf.gradients(again, hidden)],
        {x: image(64, 256)},
    )
    for got, want in zip(found, plain):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_a_sum_that_is_wanted_before_the_relu_is_kept(calls):
    x = tf.placeholder(tf.float32, [4, 3])
    total = x + image(3, seed=1)
    plain, out = run([total, tf.nn.relu(total)], {x: image(4, 3)})
    np.testing.assert_array_equal(out, np.maximum(plain, 0))
    assert not calls


def test_rows_that_are_added_to_a_vector_of_their_length_are_no_bias(calls):
    x = tf.placeholder(tf.float32, [4, 1])
    out = run(tf.nn.relu(x + image(3, seed=1)), {x: image(4, 1)})
    np.testing.assert_array_equal(out, np.maximum(image(4, 1) + image(3, seed=1), 0))
    assert not calls


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_bias_that_changes_between_was_added_as_it_was(use_resource):
    x = tf.placeholder(tf.float32, [4, 3])
    bias = tf.Variable(np.ones(3, np.float32), use_resource=use_resource)
    total = x + bias
    with tf.control_dependencies([total]):
        change = bias.assign([100.0, 100.0, 100.0])
    with tf.control_dependencies([change]):
        out = tf.nn.relu(total)
    np.testing.assert_array_equal(run(out, {x: np.zeros([4, 3])}), np.ones([4, 3]))


def test_a_bias_of_another_length_is_refused():
    x, bias = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    out = tf.nn.relu(tf.nn.bias_add(x, bias))
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(out, {x: image(4, 3), bias: image(2)})


@pytest.mark.parametrize("dtype", [tf.float64, tf.half])
def test_other_types_have_their_own_kernels(dtype):
    x = tf.placeholder(dtype, [2, 5, 16])
    bias = tf.Variable(image(16, seed=1).astype(dtype.as_numpy_dtype))
    out = tf.nn.relu(tf.nn.bias_add(x, bias))
    found = run([out, *tf.gradients(out, [x, bias])], {x: image(2, 5, 16)})
    wanted = expected(image(2, 5, 16), image(16, seed=1), np.ones([2, 5, 16]))
    for got, want in zip(found, wanted):
        assert got.dtype == dtype.as_numpy_dtype
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2)


def test_what_is_no_number_stays_none():
    x = tf.placeholder(tf.float32, [2, 2])
    out = run(tf.nn.relu(tf.nn.bias_add(x, [1.0, 2.0])), {x: [[np.nan, 1], [-np.inf, np.inf]]})
    np.testing.assert_array_equal(out, [[np.nan, 3], [0, np.inf]])


def test_nothing_to_add_to_gives_nothing():
    x, bias = tf.placeholder(tf.float32, [None, 3]), tf.Variable(image(3))
    out = tf.nn.relu(tf.nn.bias_add(x, bias))
    found = run([out, *tf.gradients(out, [x, bias])], {x: np.zeros([0, 3])})
    assert [each.shape for each in found] == [(0, 3), (0, 3), (3,)] and not found[2].any()


@pytest.mark.parametrize("shape", [(3, 4), (2, 8, 8, 64), (1,)])
def test_the_gradients_of_two_ways_are_added_while_they_pass(calls, shape):
    x = tf.placeholder(tf.float32, shape)
    out = tf.nn.relu(tf.identity(x))
    ways = [image(*shape, seed=1), image(*shape, seed=2)]
    (grad,) = tf.gradients([tf.square(out), tf.sin(out)], x, ways)
    found = run(grad, {x: image(*shape)})
    value = np.maximum(image(*shape), 0)
    wanted = (2 * value * ways[0] + np.cos(value) * ways[1]) * (value > 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert calls == ["gradient_of_sum"]


def test_a_gradient_that_is_not_finite_is_noticed_where_nothing_passes(calls):
    x = tf.placeholder(tf.float32, [3, 4])
    out = tf.nn.relu(tf.nn.bias_add(x, tf.zeros([4])))
    way = np.float32([[1, -2, np.nan, np.inf]] * 3)
    shown = np.float32([[-1] * 4, [2] * 4, [np.nan] * 4])
    grads = tf.gradients(out, [x, out.op.inputs[0].op.inputs[1]], way)
    found, bias = run(grads, {x: shown})
    blocked = [0, 0, np.nan, np.nan]
    np.testing.assert_array_equal(found, [blocked, way[1], blocked])
    np.testing.assert_array_equal(bias, [1, -2, np.nan, np.nan])
    assert calls[0] == "add_relu"
    assert gpu_count() or calls[1:] == ["relu_gradients"]


def test_two_gradients_that_are_not_finite_are_noticed_where_nothing_passes(calls):
    x = tf.placeholder(tf.float32, [4])
    out = tf.nn.relu(tf.identity(x))
    ways = [np.float32([np.inf, 1, np.nan, 1]), np.float32([-np.inf, np.inf, 1, 2])]
    (grad,) = tf.gradients([tf.square(out), tf.exp(out)], x, ways)
    found = run(grad, {x: [-1.0, 0.0, -2.0, np.nan]})
    np.testing.assert_array_equal(found, [np.nan] * 4)
    found = run(grad, {x: [1.0, 0.0, -2.0, -3.0]})
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan, 0])
    assert calls == 2 * ["gradient_of_sum"]
