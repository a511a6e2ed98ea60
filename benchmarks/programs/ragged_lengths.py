"""Training steps of an LSTM over sequences of 200 different lengths, each step another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 200
BATCH, WIDTH, UNITS, CLASSES = 64, 32, 64, 10
LENGTHS = range(10, 210)


def build(tf: Any) -> Job:
    """dynamic_rnn with lengths, in batches padded to their longest sequence."""
    rng = np.random.RandomState(0)
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, None, WIDTH], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    y = tf.placeholder(tf.int64, [None], name="y")
    cell = tf.nn.rnn_cell.LSTMCell(UNITS)
    _, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    logits = tf.layers.dense(state.h, CLASSES)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    def feed(length: int) -> dict[Any, Any]:
        counts = rng.randint(1, length + 1, BATCH)
        counts[0] = length
        pixels = rng.rand(BATCH, length, WIDTH).astype(np.float32)
        return {x: pixels, lengths: counts, y: rng.randint(0, CLASSES, BATCH)}

    feeds = [feed(length) for length in rng.permutation(LENGTHS)]
    return Job([train, loss], feeds[0], [tf.global_variables_initializer()], feeds)
