"""Dropout and its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


def test_kept_elements_are_scaled_up():
    y = run(tf.nn.dropout(np.ones((200, 50), np.float32), rate=0.25, seed=3))
    assert set(np.unique(y)) == {0, np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02


def test_a_kept_share_is_what_a_rate_leaves():
    x = np.ones((30, 30), np.float32)
    tf.set_random_seed(5)
    a = tf.nn.dropout(x, 0.75, seed=3)
    b = tf.nn.dropout(x, rate=0.25, seed=3)
    np.testing.assert_array_equal(*run([a, b]))


def test_choices_may_be_shared_along_an_axis():
    y = run(tf.nn.dropout(np.ones((4, 50, 3), np.float32), rate=0.5, noise_shape=[4, 1, 3]))
    assert (y == y[:, :1]).all()


def test_gradients_pass_where_elements_were_kept():
    x = tf.constant(np.ones((10, 10), np.float32))
    y = tf.nn.dropout(x, rate=0.5, seed=1)
    value, grad = run([y, tf.gradients(y, x)[0]])
    np.testing.assert_array_equal(value, grad)


@pytest.mark.parametrize("rate", [0, 0.0])
def test_nothing_is_dropped_at_rate_zero(rate):
    x = tf.constant([1.0, 2.0])
    assert tf.nn.dropout(x, rate=rate) is x


def test_the_rate_may_be_a_tensor():
    rate = tf.placeholder(tf.float32, [])
    y = tf.nn.dropout(np.ones(1000, np.float32), rate=rate)
    assert run(y, {rate: 0.0}).sum() == 1000
    assert abs((run(y, {rate: 0.9}) == 0).mean() - 0.9) < 0.05


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({}, "You must provide a rate to dropout"),
        ({"keep_prob": 0.5, "rate": 0.5}, "rate"),
        ({"rate": 1.0}, r"range \[0, 1\), got 1"),
        ({"rate": -0.5}, r"range \[0, 1\), got -0.5"),
        ({"keep_prob": "much"}, "keep_prob must be a floating point number"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.nn.dropout(np.ones(3, np.float32), **arguments)


def test_integers_cannot_be_scaled():
    with pytest.raises(ValueError, match="has to be a floating point tensor"):
        tf.nn.dropout(tf.constant([1, 2]), rate=0.5)
