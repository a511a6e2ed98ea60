"""Beam search: five beams of an attending GRU write thirty tokens for each of 16 sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 15
BATCH, LENGTH, WRITTEN, BEAMS, UNITS, VOCABULARY = 16, 20, 30, 5, 128, 1000


def build(tf: Any) -> Job:
    """Return a BeamSearchDecoder over an encoder's output; the best score is kept."""
    seq2seq = tf.contrib.seq2seq
    sentences = np.random.RandomState(0).randint(2, VOCABULARY, [BATCH, LENGTH])
    tf.set_random_seed(1)
    source = tf.placeholder(tf.int32, [None, LENGTH], name="source")
    table = tf.get_variable("embedding", [VOCABULARY, UNITS],
                            initializer=tf.random_normal_initializer())
    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.embedding_lookup(table, source),
            dtype=tf.float32)
    attention = seq2seq.LuongAttention(UNITS, seq2seq.tile_batch(memory, BEAMS))
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(UNITS), attention, attention_layer_size=UNITS)
    batch = tf.shape(source)[0]
    start = cell.zero_state(batch * BEAMS, tf.float32)
    start = start.clone(cell_state=seq2seq.tile_batch(state, BEAMS))
    decoder = seq2seq.BeamSearchDecoder(
        cell, table, tf.fill([batch], 1), 0, start, BEAMS,
        tf.layers.Dense(VOCABULARY, use_bias=False))
    outputs, last, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=WRITTEN)
    best = tf.reduce_mean(tf.reduce_max(last.log_probs, axis=1))
    feed = {source: sentences.astype(np.int32)}
    return Job([outputs.predicted_ids, best], feed, [tf.global_variables_initializer()])
