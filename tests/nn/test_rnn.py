"""Cells and the ways to run them, against arithmetic in NumPy and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_an_lstm_computes_what_its_definition_says():
    x = np.random.RandomState(0).randn(2, 3).astype(np.float32)
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    output, state = cell(tf.constant(x), cell.zero_state(2, tf.float32))
    kernel, h, c = run([cell.variables[0], output, state.c])
    i, j, _, o = np.split(np.concatenate([x, np.zeros((2, 4))], 1) @ kernel, 4, axis=1)
    expected = sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h, np.tanh(expected) * sigmoid(o), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.nn.rnn_cell.GRUCell(3),
        lambda: tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True, num_proj=2),
        lambda: tf.contrib.rnn.LSTMBlockCell(3),
    ],
)
def test_a_loop_and_an_unrolled_network_agree(make):
    x = np.random.RandomState(0).randn(2, 5, 3).astype(np.float32)
    with tf.variable_scope("net") as scope:
        dynamic, last = tf.nn.dynamic_rnn(make(), x, sequence_length=[5, 3], dtype=tf.float32)
        scope.reuse_variables()
        steps, end = tf.nn.static_rnn(
            make(), tf.unstack(tf.constant(x), axis=1), sequence_length=[5, 3], dtype=tf.float32
        )
    flatten = tf.contrib.framework.nest.flatten
    a, b, c, d = run([dynamic, tf.stack(steps, 1), flatten(last), flatten(end)])
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for one, other in zip(c, d, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert not a[1, 3:].any()


def test_gradients_flow_through_the_loop_as_through_an_unrolled_network():
    x = tf.constant(np.random.RandomState(0).randn(2, 4, 3).astype(np.float32))
    with tf.variable_scope("net") as scope:
        dynamic, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), x, dtype=tf.float32)
        scope.reuse_variables()
        steps, _ = tf.nn.static_rnn(
            tf.nn.rnn_cell.BasicLSTMCell(3), tf.unstack(x, axis=1), dtype=tf.float32
        )
    variables = [x, *tf.trainable_variables()]
    a = tf.gradients(tf.reduce_sum(dynamic**2), variables)
    b = tf.gradients(tf.add_n([tf.reduce_sum(step**2) for step in steps]), variables)
    for one, other in zip(*run([a, b]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_fused_cell_is_the_cell_in_a_loop():
    x = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    with tf.variable_scope("net"):
        fused, _ = tf.contrib.rnn.LSTMBlockFusedCell(3, name="cell")(
            tf.constant(x), dtype=tf.float32
        )
    with tf.variable_scope("net", reuse=True):
        cell = tf.contrib.rnn.LSTMBlockCell(3, name="cell")
        state, outputs = cell.zero_state(2, tf.float32), []
        for step in tf.unstack(tf.constant(x)):
            output, state = cell(step, state)
            outputs.append(output)
    a, b = run([fused, tf.stack(outputs)])
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_variational_dropout_drops_the_same_at_all_times():
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicRNNCell(50),
        output_keep_prob=0.5,
        variational_recurrent=True,
        dtype=tf.float32,
        seed=2,
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([3, 4, 2]), dtype=tf.float32)
    zeros = run(outputs) == 0
    assert (zeros == zeros[:1, :1]).all()
    assert 10 < zeros[0, 0].sum() < 40


def test_wrappers_come_back_from_their_configuration():
    cell = tf.nn.rnn_cell.GRUCell(3)
    residual = tf.nn.rnn_cell.ResidualWrapper(cell, residual_fn=lambda x, y: x * 3 + y)
    config = {**residual.get_config(), "cell": cell}
    assert tf.nn.rnn_cell.ResidualWrapper.from_config(config)._residual_fn(1, 2) == 5
    dropout = tf.nn.rnn_cell.DropoutWrapper(cell, 0.5, seed=3)
    config = {**dropout.get_config(), "cell": cell}
    assert tf.nn.rnn_cell.DropoutWrapper.from_config(config).get_config()["seed"] == 3


def test_what_is_no_cell_is_refused():
    with pytest.raises(TypeError, match="is not an RNNCell: 'output_size' property is missing"):
        tf.nn.dynamic_rnn(object(), tf.zeros([1, 1, 1]), dtype=tf.float32)


def test_lengths_beyond_the_inputs_are_the_inputs_length():
    x = tf.ones([2, 3, 1])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicRNNCell(2), x, sequence_length=[7, 3], dtype=tf.float32
    )
    a = run(outputs)
    np.testing.assert_array_equal(a[0], a[1])


@pytest.mark.parametrize("cell", ["GRUCell", "BasicRNNCell", "BasicLSTMCell", "LSTMCell"])
def test_a_cell_may_be_built_before_it_is_called(cell):
    cell = getattr(tf.nn.rnn_cell, cell)(4)
    cell.build([None, 3])
    assert {variable.dtype.base_dtype for variable in cell.variables} == {tf.float32}
