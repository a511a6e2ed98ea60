"""Normalizations and what follows them are one step, with the values of single operations."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.nn import batch_norm

pytestmark = pytest.mark.usefixtures("graph", "either_way")


@pytest.fixture
def calls(monkeypatch):
    """Return the additional arguments of each normalization and each gradient of one."""
    found = []

    def note(name, own):
        function = getattr(batch_norm, name)

        def noting(*args):
            found.append([name, *args[own:]])
            return function(*args)

        monkeypatch.setattr(batch_norm, name, noting)

    note("train", 6)
    note("backward", 8)
    return found


def image(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("f")


def normalized(x, channels=5):
    scale = tf.constant(image(channels, seed=8) + 1)
    return tf.nn.fused_batch_norm(x, scale, image(channels, seed=9))


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def alone(tensors, feeds):
    """Return the values of tensors when nothing can be joined, since all is given back."""
    operations = tf.get_default_graph().get_operations()
    floats = [t for op in operations for t in op.outputs if t.dtype == tf.float32]
    wanted = [*floats, *tensors]
    return run(wanted, feeds)[len(floats) :]


def test_a_relu_is_part_of_the_normalization_and_of_its_gradient(calls, cpu):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    y, mean, variance = normalized(x)
    out = tf.nn.relu(y)
    (grad,) = tf.gradients(out, x, image(4, 3, 2, 5, seed=1))
    wanted, feeds = [out, mean, variance, grad], {x: image(4, 3, 2, 5)}
    found = run(wanted, feeds)
    (forward, *after), (backward, relu) = calls
    assert (forward, after, backward) == ("train", [None, True], "backward")
    np.testing.assert_array_equal(relu, found[0])
    calls.clear()
    for one, other in zip(found, alone(wanted, feeds), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert calls == [["train"], ["backward"]]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("batch", [None, 4])
def test_a_branch_is_added_in_the_same_step(calls, swapped, batch, cpu):
    x = tf.placeholder(tf.float32, [batch, 3, 2, 5])
    branch = tf.square(x)
    y, _, _ = normalized(x)
    out = tf.nn.relu(branch + y if swapped else y + branch)
    wanted, feeds = [out, *tf.gradients(out, x)], {x: image(4, 3, 2, 5)}
    found = run(wanted, feeds)
    np.testing.assert_array_equal(calls[0][1], feeds[x] ** 2)
    assert len(calls) == 2 and calls[0][2] is True
    for one, other in zip(found, alone(wanted, feeds), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_of_two_normalizations_that_are_added_the_later_takes_the_other(calls, cpu):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    out = tf.nn.relu(normalized(x)[0] + normalized(x * 2)[0])
    feeds = {x: image(4, 3, 2, 5)}
    found = run(out, feeds)
    assert [len(call) for call in calls] == [1, 3]
    np.testing.assert_allclose(found, alone([out], feeds)[0], rtol=1e-5, atol=1e-5)


def test_a_branch_of_another_shape_is_added_on_its_own(calls):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    run(tf.nn.relu(normalized(x)[0] + tf.reduce_sum(x, 0)), {x: image(4, 3, 2, 5)})
    assert calls == [["train"]]


def test_a_batch_of_one_that_is_added_to_many_is_repeated():
    x, y = (tf.placeholder(tf.float32, [None, 3, 2, 5]) for _ in range(2))
    feeds = {x: image(1, 3, 2, 5), y: image(4, 3, 2, 5)}
    out = tf.nn.relu(normalized(x)[0] + tf.square(y))
    np.testing.assert_allclose(run(out, feeds), alone([out], feeds)[0], rtol=1e-6)


def test_what_is_also_wanted_without_the_relu_is_not_joined(calls):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    y, _, _ = normalized(x)
    found, plain = run([tf.nn.relu(y), y], {x: image(4, 3, 2, 5)})
    np.testing.assert_array_equal(found, np.maximum(plain, 0))
    assert calls == [["train"]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_branch_that_reads_a_variable_sees_what_is_assigned_before(use_resource):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    variable = tf.Variable(tf.ones([4, 3, 2, 5]), use_resource=use_resource)
    y, _, _ = normalized(x)
    with tf.control_dependencies([y]):
        change = variable.assign(100 * tf.ones([4, 3, 2, 5]))
    with tf.control_dependencies([change]):
        out = tf.nn.relu(y + variable.read_value())
    assert run(out, {x: image(4, 3, 2, 5)}).min() > 50


def test_a_gradient_that_nobody_else_needs_is_written_over():
    x = tf.placeholder(tf.float32, [8, 16, 16, 8])
    y, _, _ = normalized(x, 8)
    way = image(8, 16, 16, 8, seed=3)
    hidden = tf.square(y)
    feeds = {x: image(8, 16, 16, 8)}
    wanted = tf.gradients(hidden, [x, y], way)
    both = run(wanted, feeds)  # here the gradient of y is given back
    np.testing.assert_allclose(run(wanted[0], feeds), both[0], rtol=1e-6)
    np.testing.assert_allclose(both[1], 2 * run(y, feeds) * way, rtol=1e-5, atol=1e-6)


def test_a_gradient_that_reads_a_variable_is_the_one_before_its_change():
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    way = tf.Variable(np.ones([4, 3, 2, 5], "f"), use_resource=False)
    y, _, _ = normalized(x)
    (passed,) = tf.gradients(tf.nn.relu(y), y, way)
    with tf.control_dependencies([passed]):
        change = way.assign(100 * tf.ones([4, 3, 2, 5]))
    with tf.control_dependencies([change]):
        later = tf.identity(x)
    feeds = {x: image(4, 3, 2, 5)}
    (wanted,) = tf.gradients(y, x, passed)
    found = run([wanted, later], feeds)[0]
    np.testing.assert_allclose(found, run(wanted, feeds), rtol=1e-6, atol=1e-6)


def test_a_gradient_that_is_not_finite_is_noticed_where_the_relu_passes_nothing(calls):
    x = tf.placeholder(tf.float32, [4, 3, 2, 5])
    out = tf.nn.relu(normalized(x)[0])
    way = image(4, 3, 2, 5, seed=1)
    grads = tf.gradients(out, x, tf.placeholder_with_default(way, way.shape))
    result, before = run([out, *grads], {x: image(4, 3, 2, 5)})
    blocked = tuple(np.argwhere(result == 0)[0])
    assert np.isfinite(before).all()
    way[blocked] = np.inf
    (found,) = run(tf.gradients(out, x, way), {x: image(4, 3, 2, 5)})
    assert np.isnan(found[blocked]) and calls[-1][0] == "backward"
    assert np.isfinite(np.delete(found, blocked[-1], axis=-1)).all()
