"""A while_loop of a thousand iterations with its gradient: the cost of saved values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 5
TURNS, BATCH, WIDTH = 1_000, 128, 128


def build(tf: Any) -> Job:
    """Return a state that a matrix and tanh turn, and the slope of its end by the matrix."""
    rng = np.random.RandomState(0)
    turned = (rng.randn(WIDTH, WIDTH) / WIDTH**0.5).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, WIDTH], name="x")
    matrix = tf.Variable(turned, name="matrix")

    def turn(i: Any, state: Any) -> Any:
        return i + 1, tf.tanh(tf.matmul(state, matrix) + 0.1 * x)

    _, state = tf.while_loop(lambda i, state: i < TURNS, turn, [tf.constant(0), x])
    loss = tf.reduce_mean(tf.square(state))
    (grad,) = tf.gradients(loss, [matrix])
    feed = {x: rng.rand(BATCH, WIDTH).astype(np.float32)}
    return Job([grad, loss], feed, [tf.global_variables_initializer()])
