"""A perceptron with two hidden layers, trained by Adam, batches of 128."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 150
BATCH = 128


def data() -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1) and class numbers."""
    rng = np.random.RandomState(0)
    return rng.rand(BATCH, 784).astype(np.float32), rng.randint(0, 10, BATCH)


def initial_weights() -> list[np.ndarray]:
    """Return the same start for every implementation."""
    rng = np.random.RandomState(1)
    shapes = [(784, 256), (256, 256), (256, 10)]
    return [(rng.randn(a, b) * np.sqrt(2.0 / a)).astype(np.float32) for a, b in shapes]


def build(tf: Any) -> Job:
    """Weights and biases by hand, as in most tutorials."""
    pixels, labels = data()
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    h = x
    start = initial_weights()
    for number, weights in enumerate(start):
        with tf.name_scope(f"layer{number}"):
            w = tf.Variable(weights, name="w")
            b = tf.Variable(tf.zeros([weights.shape[1]]), name="b")
            h = tf.matmul(h, w) + b
            if number < len(start) - 1:
                h = tf.nn.relu(h)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return Job([train, loss], {x: pixels, y: labels}, [tf.global_variables_initializer()])
