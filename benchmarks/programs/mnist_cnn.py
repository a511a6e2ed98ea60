"""The classic MNIST network: two convolutions with pooling, dropout, Adam, batches of 64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 12
BATCH = 64


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and class numbers."""
    rng = np.random.RandomState(0)
    return rng.rand(BATCH, 28, 28, 1).astype(np.float32), rng.randint(0, 10, BATCH)


def build(tf: Any) -> Job:
    """Convolutions of 32 and 64 filters of 5x5, 1,024 hidden units, dropout through a feed."""
    images, labels = data()
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    y = tf.placeholder(tf.int64, [None])
    keep_prob = tf.placeholder(tf.float32)

    def weights(shape: list[int]) -> Any:
        return tf.Variable(tf.truncated_normal(shape, stddev=0.1))

    def biases(size: int) -> Any:
        return tf.Variable(tf.constant(0.1, shape=[size]))

    def convolve(h: Any, inputs: int, outputs: int) -> Any:
        h = tf.nn.conv2d(h, weights([5, 5, inputs, outputs]), [1, 1, 1, 1], "SAME")
        h = tf.nn.relu(h + biases(outputs))
        return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    h = convolve(convolve(x, 1, 32), 32, 64)
    h = tf.reshape(h, [-1, 7 * 7 * 64])
    h = tf.nn.relu(tf.matmul(h, weights([7 * 7 * 64, 1024])) + biases(1024))
    h = tf.nn.dropout(h, keep_prob=keep_prob)
    logits = tf.matmul(h, weights([1024, 10])) + biases(10)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)
    feed = {x: images, y: labels, keep_prob: 0.5}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
