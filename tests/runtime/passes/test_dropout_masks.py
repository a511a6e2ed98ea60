"""Dropout's mask is made over the draws that it is told from, and is what it was."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count
from stillflow.runtime.passes import dropout_masks


@pytest.fixture
def masks(monkeypatch):
    """Return the draws of masks that were made in one step."""
    made = []

    def keep_mask(draws, rate):
        made.append(draws)
        return draws.ge_(rate)

    monkeypatch.setattr(dropout_masks, "keep_mask", keep_mask)
    return made


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def expected(x, rate, seed):
    """Return the result by draws of the same stream, without fusion."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        draws = run(tf.random_uniform(x.shape, seed=seed))
    return x / (1 - rate) * (draws >= rate)


@pytest.mark.parametrize("shape", [(3, 4), (300, 70)])
def test_a_mask_is_made_in_one_step(masks, shape):
    x = np.random.RandomState(0).rand(*shape).astype(np.float32)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        given = tf.placeholder(tf.float32, shape)
        y = tf.nn.dropout(given, rate=0.25, seed=5)
        (gradient,) = tf.gradients(y, given)
        values, slopes = run([y, gradient], {given: x})
    assert gpu_count() or len(masks) == 1
    np.testing.assert_allclose(values, expected(x, 0.25, 5), rtol=1e-6)
    np.testing.assert_allclose(slopes, (values != 0) / 0.75, rtol=1e-6)


def test_draws_that_somebody_else_needs_stay_as_they_are(masks):
    with tf.Graph().as_default():
        draws = tf.random_uniform([50])
        mask = tf.cast(draws >= 0.5, tf.float32)
        values, found = run([draws, mask])
    assert not masks
    np.testing.assert_array_equal(found, (values >= 0.5).astype(np.float32))


@pytest.mark.parametrize(
    ("low", "high", "rate"), [(0.0, 2.0, 1.0), (-1.0, 1.0, 0.0), (1.0, 2.0, 1.5)]
)
def test_draws_of_other_ranges_are_compared_in_these(masks, low, high, rate):
    with tf.Graph().as_default():
        draws = tf.random_uniform([1000], low, high)
        mask = run(tf.cast(draws >= rate, tf.float32))
    assert set(mask.tolist()) == {0.0, 1.0}
    assert 300 < mask.sum() < 700


def test_a_rate_that_is_fed_and_other_types_are_left_alone(masks):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        rate = tf.placeholder(tf.float32, [])
        x = tf.ones([40])
        values = run(tf.nn.dropout(x, rate=rate, seed=3), {rate: 0.5})
        truths = run(tf.cast(tf.random_uniform([40]) >= 0.5, tf.int32))
    np.testing.assert_allclose(values, expected(np.ones(40, np.float32), 0.5, 3), rtol=1e-6)
    assert not masks
    assert truths.dtype == np.int32
