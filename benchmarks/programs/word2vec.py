"""Skip-grams (Mikolov, 2013): 128 pairs of words of 50,000, 64 words sampled against them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 200
BATCH, VOCABULARY, UNITS, SAMPLED = 128, 50000, 128, 64


def data() -> tuple[np.ndarray, np.ndarray]:
    """Words, and one near each."""
    rng = np.random.RandomState(0)
    inputs = rng.zipf(1.3, BATCH) % VOCABULARY
    return inputs, rng.zipf(1.3, [BATCH, 1]) % VOCABULARY


def build(tf: Any) -> Job:
    """Embeddings trained by noise-contrastive estimation and gradient descent."""
    words, near = data()
    tf.set_random_seed(1)
    inputs = tf.placeholder(tf.int32, [BATCH], name="inputs")
    labels = tf.placeholder(tf.int32, [BATCH, 1], name="labels")
    table = tf.Variable(tf.random_uniform([VOCABULARY, UNITS], -1, 1))
    weights = tf.Variable(tf.truncated_normal([VOCABULARY, UNITS], stddev=UNITS**-0.5))
    biases = tf.Variable(tf.zeros([VOCABULARY]))
    loss = tf.reduce_mean(tf.nn.nce_loss(
        weights, biases, labels, tf.nn.embedding_lookup(table, inputs), SAMPLED, VOCABULARY))
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    return Job([train, loss], {inputs: words, labels: near}, [tf.global_variables_initializer()])
