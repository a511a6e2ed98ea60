"""Scaled losses: gradients come out unscaled, and steps that overflow leave variables alone."""

from __future__ import annotations

import numpy as np

import stillflow as tf


def test_a_step_that_overflows_is_skipped_and_shrinks_the_scale() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        w = tf.Variable(3.0)
        manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(
            64.0, 100, decr_every_n_nan_or_inf=1, decr_ratio=0.5
        )
        optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(
            tf.train.GradientDescentOptimizer(0.5), manager
        )
        train = optimizer.minimize(w * x)
        session.run(tf.global_variables_initializer())
        session.run(train, {x: np.inf})
        assert session.run([w, manager.get_loss_scale()]) == [3.0, 32.0]
        session.run(train, {x: 2.0})
        assert session.run([w, manager.get_loss_scale()]) == [2.0, 32.0]
