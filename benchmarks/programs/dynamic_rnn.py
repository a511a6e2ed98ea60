"""A training step of an LSTM of 128 units over 28 rows of pixels, batches of 128."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 40
BATCH, ROWS, UNITS, CLASSES = 128, 28, 128, 10


def data() -> tuple[np.ndarray, np.ndarray]:
    """Pixels and class numbers."""
    rng = np.random.RandomState(0)
    pixels = rng.rand(BATCH, ROWS, 28).astype(np.float32)
    return pixels, rng.randint(0, CLASSES, BATCH)


def build(tf: Any) -> Job:
    """tf.nn.dynamic_rnn: a loop forth, a loop back, trained by gradient descent."""
    rng = np.random.RandomState(1)
    pixels, labels = data()
    x = tf.placeholder(tf.float32, [None, ROWS, 28], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    tf.set_random_seed(1)
    cell = tf.nn.rnn_cell.LSTMCell(UNITS)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    weights = tf.Variable((rng.randn(UNITS, CLASSES) / 12).astype(np.float32), name="w")
    logits = tf.matmul(outputs[:, -1], weights)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return Job([train, loss], {x: pixels, y: labels}, [tf.global_variables_initializer()])
