"""Images looked up by a loop in C are those that torch's operations give."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.rand(3, 8, 5, 4).astype(np.float32)
PLACES = (RANDOM.rand(3, 6, 7, 2) * 14 - 4).astype(np.float32)
PLACES[0, 0, :5, 0] = [np.nan, np.inf, -1, 5, 4]
PLACES[1, 0, :5, 1] = [np.nan, -np.inf, -1, 8, 7]


def sampled():
    with tf.Graph().as_default(), tf.Session() as session:
        images, places = tf.constant(IMAGES), tf.constant(PLACES)
        found = tf.contrib.resampler.resampler(images, places)
        gradients = tf.gradients(tf.reduce_sum(tf.square(found)), [images, places])
        return session.run([found, *gradients])


def test_the_loop_gives_what_operations_give(monkeypatch):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    by_loop = sampled()
    monkeypatch.setattr(native, "library", lambda: None)
    for found, expected in zip(by_loop, sampled(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
