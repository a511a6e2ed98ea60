"""Softmax regression on MNIST-like rows, plain gradient descent, batches of 100."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 300
BATCH = 100


def data() -> tuple[np.ndarray, np.ndarray]:
    """Pixels in [0, 1) and one-hot labels."""
    rng = np.random.RandomState(0)
    pixels = rng.rand(BATCH, 784).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, BATCH)]
    return pixels, labels


def build(tf: Any) -> Job:
    """Return the graph of the classic MNIST tutorial for beginners."""
    pixels, labels = data()
    x = tf.placeholder(tf.float32, [None, 784])
    y_ = tf.placeholder(tf.float32, [None, 10])
    w = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return Job([train, loss], {x: pixels, y_: labels}, [tf.global_variables_initializer()])
