"""A causal transformer: four layers, width 256, length 128, batches of 8, Adam with clipping."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 8
BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 8, 128, 256, 4, 4, 1000


def data() -> tuple[np.ndarray, np.ndarray]:
    """Tokens, and the tokens that follow them."""
    rng = np.random.RandomState(0)
    tokens = rng.randint(0, VOCABULARY, [BATCH, LENGTH + 1])
    return tokens[:, :-1].astype(np.int32), tokens[:, 1:].astype(np.int32)


def layer_norm(tf: Any, x: Any) -> Any:
    """Normalize the last axis, with a learned scale and offset."""
    with tf.variable_scope(None, "layer_norm"):
        scale = tf.get_variable("scale", [WIDTH], initializer=tf.ones_initializer())
        offset = tf.get_variable("offset", [WIDTH], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


def attention(tf: Any, x: Any, mask: Any) -> Any:
    """Causal self-attention with several heads."""
    def heads(t: Any) -> Any:
        return tf.transpose(tf.reshape(t, [-1, LENGTH, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])

    q, k, v = (heads(tf.layers.dense(x, WIDTH, name=name)) for name in "qkv")
    scores = tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5 + mask
    mixed = tf.matmul(tf.nn.softmax(scores), v)
    mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, LENGTH, WIDTH])
    return tf.layers.dense(mixed, WIDTH, name="output")


def gelu(tf: Any, x: Any) -> Any:
    """Return the usual approximation with tanh."""
    return 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * tf.pow(x, 3))))


def build(tf: Any) -> Job:
    """Return a language model over random tokens, output weights tied to the embedding."""
    tokens, following = data()
    tf.set_random_seed(1)
    inputs = tf.placeholder(tf.int32, [None, LENGTH], name="inputs")
    labels = tf.placeholder(tf.int32, [None, LENGTH], name="labels")
    table = tf.get_variable("embedding", [VOCABULARY, WIDTH],
                            initializer=tf.random_normal_initializer(stddev=0.02))
    places = tf.get_variable("positions", [LENGTH, WIDTH],
                             initializer=tf.random_normal_initializer(stddev=0.02))
    mask = (1.0 - tf.matrix_band_part(tf.ones([LENGTH, LENGTH]), -1, 0)) * -1e9
    h = tf.nn.embedding_lookup(table, inputs) + places
    for number in range(LAYERS):
        with tf.variable_scope(f"layer{number}"):
            h = h + attention(tf, layer_norm(tf, h), mask)
            inner = gelu(tf, tf.layers.dense(layer_norm(tf, h), 4 * WIDTH, name="up"))
            h = h + tf.layers.dense(inner, WIDTH, name="down")
    h = tf.reshape(layer_norm(tf, h), [-1, WIDTH])
    logits = tf.matmul(h, table, transpose_b=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(labels, [-1]), logits=logits))
    optimizer = tf.train.AdamOptimizer(1e-3)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(gradients, variables))
    feed = {inputs: tokens, labels: following}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
