"""Decoders as layers: they decode as those that are no layers."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.seq2seq.beam_search_decoder import BeamSearchDecoderV2
from stillflow_contrib.seq2seq.decoder import BaseDecoder

seq2seq = tf.contrib.seq2seq
VECTORS = np.random.RandomState(0).randn(5, 3).astype(np.float32)


def test_a_beam_search_finds_what_the_other_form_finds():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(2)
        cell, layer = tf.nn.rnn_cell.GRUCell(3), tf.layers.Dense(5)
        state = seq2seq.tile_batch(tf.ones([2, 3]), 3)
        tokens, end = tf.constant([0, 1]), 4
        one = seq2seq.BeamSearchDecoder(cell, VECTORS, tokens, end, state, 3, layer)
        expected, _, lengths = seq2seq.dynamic_decode(one, maximum_iterations=6)
        found = []
        for embedding_fn, given in (
            (None, VECTORS),
            (lambda ids: tf.nn.embedding_lookup(VECTORS, ids), None),
        ):
            other = BeamSearchDecoderV2(
                cell, 3, embedding_fn, output_layer=layer, maximum_iterations=6
            )
            found.append(other(given, start_tokens=tokens, end_token=end, initial_state=state))
        session.run(tf.global_variables_initializer())
        wanted = session.run([expected.predicted_ids, lengths])
        for outputs, _, own_lengths in found:
            for a, b in zip(session.run([outputs.predicted_ids, own_lengths]), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="embedding and embedding_fn cannot be provided at"):
            other.initialize(VECTORS, tokens, end, state)
        with pytest.raises(ValueError, match="embedding_fn is expected to be a callable"):
            BeamSearchDecoderV2(cell, 3, embedding_fn=3)


class _Counting(BaseDecoder):
    """Counts down from its input."""

    batch_size = property(lambda self: tf.constant(2))
    output_size = tf.TensorShape([])
    output_dtype = tf.int32

    def initialize(self, inputs, initial_state=None):
        return tf.less_equal(inputs, 0), inputs, initial_state

    def step(self, time, inputs, state, name=None):
        return inputs, state + 1, inputs - 1, tf.less_equal(inputs, 1)


def test_a_decoder_of_ones_own_is_a_layer():
    with tf.Graph().as_default(), tf.Session() as session:
        decoder = _Counting(output_time_major=True, impute_finished=True)
        outputs, state, lengths = decoder(tf.constant([3, 1]), initial_state=tf.zeros([2]))
        outputs, state, lengths = session.run([outputs, state, lengths])
        np.testing.assert_array_equal(outputs, [[3, 1], [2, 0], [1, 0]])
        np.testing.assert_array_equal(state, [3, 1])
        np.testing.assert_array_equal(lengths, [3, 1])
