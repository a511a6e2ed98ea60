"""A training step of a translation model: two layers of GRUs, attention, Adam with clipping."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 15
BATCH, LENGTH, UNITS, LAYERS, VOCABULARY = 64, 20, 128, 2, 1000


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sentences, the lengths of the first ones, and their translations with a first token."""
    rng = np.random.RandomState(0)
    lengths = rng.randint(LENGTH // 2, LENGTH + 1, BATCH).astype(np.int32)
    lengths[0] = LENGTH
    source = rng.randint(1, VOCABULARY, [BATCH, LENGTH]).astype(np.int32)
    target = rng.randint(1, VOCABULARY, [BATCH, LENGTH + 1]).astype(np.int32)
    return source, lengths, target


def layers(tf: Any) -> Any:
    """Return the recurrent cell of encoder and decoder."""
    return tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(UNITS) for _ in range(LAYERS)])


def build(tf: Any) -> Job:
    """dynamic_rnn reads, a BasicDecoder with Luong's attention writes."""
    seq2seq = tf.contrib.seq2seq
    sentences, counts, translations = data()
    tf.set_random_seed(1)
    source = tf.placeholder(tf.int32, [None, None], name="source")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    target = tf.placeholder(tf.int32, [None, None], name="target")
    table = tf.get_variable("embedding", [VOCABULARY, UNITS])
    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(
            layers(tf), tf.nn.embedding_lookup(table, source), lengths, dtype=tf.float32)
    attention = seq2seq.LuongAttention(UNITS, memory, memory_sequence_length=lengths)
    cell = seq2seq.AttentionWrapper(layers(tf), attention, attention_layer_size=UNITS)
    batch = tf.shape(source)[0]
    inputs, labels = target[:, :-1], target[:, 1:]
    ends = tf.fill([batch], tf.shape(inputs)[1])
    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, inputs), ends)
    start = cell.zero_state(batch, tf.float32).clone(cell_state=state)
    decoder = seq2seq.BasicDecoder(cell, helper, start, tf.layers.Dense(VOCABULARY))
    outputs, _, _ = seq2seq.dynamic_decode(decoder)
    loss = seq2seq.sequence_loss(
        outputs.rnn_output, labels, tf.sequence_mask(ends, tf.shape(labels)[1], tf.float32))
    optimizer = tf.train.AdamOptimizer(1e-3)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
    train = optimizer.apply_gradients(zip(gradients, variables))
    feed = {source: sentences, lengths: counts, target: translations}
    return Job([train, loss], feed, [tf.global_variables_initializer()])
