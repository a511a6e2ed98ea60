"""Dropout for self-normalizing networks."""

from __future__ import annotations

import numpy as np

import stillflow as tf


def test_mean_and_variance_are_kept() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = np.random.RandomState(0).normal(size=100_000).astype(np.float32)
        dropped = session.run(tf.contrib.nn.alpha_dropout(tf.constant(numbers), 0.7, seed=1))
        assert abs(dropped.mean()) < 0.02
        assert abs(dropped.var() - 1.0) < 0.03
