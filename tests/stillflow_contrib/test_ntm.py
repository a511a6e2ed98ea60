"""Neural Turing machines: sizes, addresses, learning."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.rnn.ntm import NTMCell


def _cell(heads=1, **options):
    return NTMCell(tf.nn.rnn_cell.LSTMCell(8), 5, 3, heads, heads, **options)


@pytest.mark.parametrize("heads", [1, 2])
def test_addresses_are_shares_of_the_memory(heads):
    tf.set_random_seed(1)
    with tf.Graph().as_default(), tf.Session() as session:
        cell = _cell(heads)
        x = tf.constant(np.random.RandomState(0).randn(2, 4), tf.float32)
        output, state = cell(x, cell.zero_state(2, tf.float32))
        output, state = cell(x, state)
        session.run(tf.global_variables_initializer())
        output, addresses, memory = session.run([output, state.w_list, state.M])
        assert (output.shape, memory.shape, len(addresses)) == ((2, 4), (2, 5, 3), 2 * heads)
        for address in addresses:
            np.testing.assert_allclose(address.sum(1), 1.0, rtol=1e-5)
        assert cell.state_size.w_list == [5] * (2 * heads)


def test_a_machine_learns_to_remember():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        cell = _cell(output_dim=2)
        rng = np.random.RandomState(0)
        x = tf.constant(rng.randint(0, 2, (8, 2)), tf.float32)
        state = cell.zero_state(8, tf.float32)
        for given in (x, tf.zeros_like(x)):
            output, state = cell(given, state)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=output))
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(40):
            session.run(step)
        assert session.run(loss) < 0.2 * before


def test_a_controller_is_a_cell():
    with pytest.raises(TypeError, match="NTM RNN controller cell"):
        NTMCell(3, 5, 3, 1, 1)
