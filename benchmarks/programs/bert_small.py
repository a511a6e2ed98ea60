"""BERT-small (four layers, width 512): 128 tokens, batches of 8, masks, dropout, masked words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 6
BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 8, 128, 512, 8, 4, 30522
PREDICTED, RATE = 20, 0.1


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, how many of each row count, and the places and words to be predicted."""
    rng = np.random.RandomState(0)
    tokens = rng.randint(0, VOCABULARY, [BATCH, LENGTH]).astype(np.int32)
    lengths = rng.randint(LENGTH // 2, LENGTH + 1, BATCH).astype(np.int32)
    places = rng.randint(0, LENGTH // 2, [BATCH, PREDICTED])
    places = (places + LENGTH * np.arange(BATCH)[:, None]).astype(np.int32).ravel()
    return tokens, lengths, places, rng.randint(0, VOCABULARY, len(places)).astype(np.int32)


def layer(tf: Any, x: Any, mask: Any) -> Any:
    """Return a layer's output: attention and two dense layers, each added and normalized."""
    def dense(t: Any, units: int, name: str) -> Any:
        start = tf.truncated_normal_initializer(stddev=0.02)
        return tf.layers.dense(t, units, kernel_initializer=start, name=name)

    def heads(t: Any) -> Any:
        return tf.transpose(tf.reshape(t, [-1, LENGTH, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])

    def added(t: Any, more: Any) -> Any:
        return tf.contrib.layers.layer_norm(
            t + tf.nn.dropout(more, 1 - RATE), begin_norm_axis=-1, begin_params_axis=-1)

    q, k, v = (heads(dense(x, WIDTH, name)) for name in ("query", "key", "value"))
    scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5 + mask
    mixed = tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), 1 - RATE), v)
    mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, WIDTH])
    x = added(x, dense(mixed, WIDTH, "attention"))
    inner = dense(x, 4 * WIDTH, "up")
    inner *= 0.5 * (1.0 + tf.erf(inner / np.sqrt(2.0).astype(np.float32)))
    return added(x, dense(inner, WIDTH, "down"))


def build(tf: Any) -> Job:
    """Return a step of pre-training: hidden words are predicted."""
    rows, counts, places, hidden = data()
    tf.set_random_seed(1)
    tokens = tf.placeholder(tf.int32, [None, LENGTH], name="tokens")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    at = tf.placeholder(tf.int32, [None], name="at")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    start = tf.truncated_normal_initializer(stddev=0.02)
    table = tf.get_variable("words", [VOCABULARY, WIDTH], initializer=start)
    positions = tf.get_variable("positions", [LENGTH, WIDTH], initializer=start)
    mask = (1.0 - tf.sequence_mask(lengths, LENGTH, tf.float32)) * -10000.0
    h = tf.reshape(tf.nn.embedding_lookup(table, tokens) + positions, [-1, WIDTH])
    for number in range(LAYERS):
        with tf.variable_scope(f"layer_{number}"):
            h = layer(tf, h, mask[:, None, None])
    logits = tf.matmul(tf.gather(h, at), table, transpose_b=True)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer = tf.train.AdamOptimizer(1e-4)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(gradients, variables))
    feed = {tokens: rows, lengths: counts, at: places, labels: hidden}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
