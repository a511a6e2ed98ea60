"""Sentences classified by convolutions (Kim, 2014): 64 of 56 words, of a vocabulary of 20,000."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 30
BATCH, LENGTH, VOCABULARY, UNITS, FILTERS = 64, 56, 20000, 128, 128


def data() -> tuple[np.ndarray, np.ndarray]:
    """Sentences, and their classes one-hot."""
    rng = np.random.RandomState(0)
    words = rng.randint(0, VOCABULARY, [BATCH, LENGTH]).astype(np.int32)
    return words, np.eye(2, dtype=np.float32)[rng.randint(0, 2, BATCH)]


def build(tf: Any) -> Job:
    """Windows of three, four and five words, the largest answer of each, dropout and Adam."""
    sentences, classes = data()
    tf.set_random_seed(1)
    words = tf.placeholder(tf.int32, [None, LENGTH], name="words")
    labels = tf.placeholder(tf.float32, [None, 2], name="labels")
    table = tf.Variable(tf.random_uniform([VOCABULARY, UNITS], -1, 1), name="table")
    image = tf.expand_dims(tf.nn.embedding_lookup(table, words), -1)
    answers = []
    for size in (3, 4, 5):
        shape = [size, UNITS, 1, FILTERS]
        weights = tf.Variable(tf.truncated_normal(shape, stddev=0.1))
        bias = tf.Variable(tf.constant(0.1, shape=[FILTERS]))
        found = tf.nn.conv2d(image, weights, [1, 1, 1, 1], "VALID")
        found = tf.nn.relu(tf.nn.bias_add(found, bias))
        window = [1, LENGTH - size + 1, 1, 1]
        answers.append(tf.nn.max_pool(found, window, [1, 1, 1, 1], "VALID"))
    flat = tf.nn.dropout(tf.reshape(tf.concat(answers, 3), [-1, 3 * FILTERS]), 0.5)
    logits = tf.layers.dense(flat, 2)
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    feed = {words: sentences, labels: classes}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
