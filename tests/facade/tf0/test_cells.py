"""Recurrent cells of 0.x compute what today's do, from variables with the names of their time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.facade.tf0 import cells, rnn

BATCH, DEPTH, UNITS = 2, 3, 4


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        yield


def inputs(time=1):
    values = np.random.RandomState(0).uniform(-1, 1, [time, BATCH, DEPTH]).astype("f")
    return [tf.constant(value) for value in values]


def names():
    return [variable.op.name for variable in tf.trainable_variables()]


def same_as_today(old, today, matrices):
    """Run both with the same weights: `matrices` are {today's variable: 0.x's}."""
    (x,) = inputs()
    given = old(x, old.zero_state(BATCH, tf.float32), "old")
    expected = today(x, today.zero_state(BATCH, tf.float32), "today")
    by_name = {variable.op.name: variable for variable in tf.trainable_variables()}
    assert len(by_name) == 2 * len(matrices)
    copies = tf.group(
        *(
            tf.assign(by_name["today/" + new], by_name["old/" + old])
            for new, old in matrices.items()
        )
    )
    results = run({"given": given, "expected": expected}, first=copies)
    for ours, theirs in zip(
        tf.contrib.framework.nest.flatten(results["given"]),
        tf.contrib.framework.nest.flatten(results["expected"]),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_basic_lstm():
    same_as_today(
        cells.BasicLSTMCell(UNITS),
        tf.nn.rnn_cell.BasicLSTMCell(UNITS),
        {"kernel": "Linear/Matrix", "bias": "Linear/Bias"},
    )


def test_basic_rnn():
    same_as_today(
        cells.BasicRNNCell(UNITS),
        tf.nn.rnn_cell.BasicRNNCell(UNITS),
        {"kernel": "Linear/Matrix", "bias": "Linear/Bias"},
    )


def test_gru():
    same_as_today(
        cells.GRUCell(UNITS),
        tf.nn.rnn_cell.GRUCell(UNITS),
        {
            "gates/kernel": "Gates/Linear/Matrix",
            "gates/bias": "Gates/Linear/Bias",
            "candidate/kernel": "Candidate/Linear/Matrix",
            "candidate/bias": "Candidate/Linear/Bias",
        },
    )


def test_lstm_with_peepholes_clips_and_a_projection():
    options = {"use_peepholes": True, "cell_clip": 0.1, "num_proj": 2, "proj_clip": 0.05}
    same_as_today(
        cells.LSTMCell(UNITS, **options),
        tf.nn.rnn_cell.LSTMCell(UNITS, **options),
        {
            "kernel": "W_0",
            "bias": "B",
            "w_f_diag": "W_F_diag",
            "w_i_diag": "W_I_diag",
            "w_o_diag": "W_O_diag",
            "projection/kernel": "W_P_0",
        },
    )


def test_matrices_are_kept_in_shards():
    (x,) = inputs()
    cell = cells.LSTMCell(UNITS, num_unit_shards=3)
    cell(x, cell.zero_state(BATCH, tf.float32))
    shapes = {
        variable.op.name: variable.get_shape().as_list() for variable in tf.trainable_variables()
    }
    assert shapes == {
        "LSTMCell/W_0": [3, 16],
        "LSTMCell/W_1": [2, 16],
        "LSTMCell/W_2": [2, 16],
        "LSTMCell/B": [16],
    }
    with pytest.raises(ValueError, match="Too many shards"):
        cells.LSTMCell(UNITS, num_unit_shards=8)(x, cell.zero_state(BATCH, tf.float32), "more")


def test_one_cell_in_several_layers_has_variables_in_each():
    cell = cells.MultiRNNCell([cells.BasicLSTMCell(UNITS)] * 2)
    outputs, state = rnn.rnn(cell, inputs(3), dtype=tf.float32)
    layer = "RNN/MultiRNNCell/Cell{}/BasicLSTMCell/Linear/{}"
    assert names() == [layer.format(i, part) for i in range(2) for part in ("Matrix", "Bias")]
    assert [len(outputs), len(state)] == [3, 2]
    dynamic, last = rnn.dynamic_rnn(
        cell, tf.stack(inputs(3)), dtype=tf.float32, time_major=True, scope=reused("RNN")
    )
    results = run([tf.stack(outputs), dynamic, state, last])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    np.testing.assert_allclose(results[2], results[3], rtol=1e-6)


def reused(name):
    with tf.variable_scope(name, reuse=True) as scope:
        return scope


def test_state_in_one_tensor(monkeypatch):
    parts = cells.MultiRNNCell([cells.BasicLSTMCell(UNITS)] * 2)
    monkeypatch.setenv("STILLFLOW_TF0", "0.10")
    joined = cells.MultiRNNCell([cells.BasicLSTMCell(UNITS)] * 2)
    assert joined.state_size == 16 and joined.zero_state(BATCH, tf.float32).shape == [BATCH, 16]
    outputs, state = rnn.rnn(joined, inputs(2), dtype=tf.float32)
    expected, last = rnn.rnn(parts, inputs(2), dtype=tf.float32, scope=reused("RNN"))
    flat = tf.concat([part for layer in last for part in layer], 1)
    results = run([outputs, expected, state, flat])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    np.testing.assert_allclose(results[2], results[3], rtol=1e-6)


def test_states_of_tuples_are_not_joined():
    with pytest.raises(ValueError, match="state_is_tuple is not set"):
        cells.MultiRNNCell([cells.BasicLSTMCell(UNITS)], state_is_tuple=False)


@pytest.mark.parametrize("lengths", [None, [1, 3]])
def test_both_directions_in_lists_and_in_loops(lengths):
    cell, x = cells.GRUCell(UNITS), inputs(3)
    outputs, forwards, backwards = rnn.bidirectional_rnn(
        cell, cell, x, dtype=tf.float32, sequence_length=lengths
    )
    assert {name.partition("/GRUCell")[0] for name in names()} == {"BiRNN/FW", "BiRNN/BW"}
    both, states = rnn.bidirectional_dynamic_rnn(
        cell, cell, tf.stack(x), lengths, dtype=tf.float32, time_major=True, scope=reused("BiRNN")
    )
    results = run([tf.stack(outputs), tf.concat(both, 2), [forwards, backwards], list(states)])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(results[2], results[3], rtol=1e-6)


def test_wrappers():
    inner = cells.InputProjectionWrapper(cells.BasicRNNCell(UNITS), 5)
    cell = cells.OutputProjectionWrapper(cells.DropoutWrapper(inner, output_keep_prob=1.0), 2)
    outputs, _ = rnn.rnn(cell, inputs(), dtype=tf.float32)
    assert outputs[0].get_shape().as_list() == [BATCH, 2]
    words = cells.EmbeddingWrapper(cells.BasicRNNCell(UNITS), 10, 6)
    rnn.rnn(words, [tf.constant([1, 2])], dtype=tf.float32, scope="words")
    assert names() == [
        "RNN/InputProjectionWrapper/Linear/Matrix",
        "RNN/InputProjectionWrapper/Linear/Bias",
        "RNN/BasicRNNCell/Linear/Matrix",
        "RNN/BasicRNNCell/Linear/Bias",
        "RNN/OutputProjectionWrapper/Linear/Matrix",
        "RNN/OutputProjectionWrapper/Linear/Bias",
        "words/EmbeddingWrapper/embedding",
        "words/BasicRNNCell/Linear/Matrix",
        "words/BasicRNNCell/Linear/Bias",
    ]


def test_dropout_leaves_out_what_it_does_not_keep():
    cell = cells.DropoutWrapper(cells.BasicRNNCell(UNITS), output_keep_prob=tf.constant(0.5))
    output, _ = cell(tf.ones([100, DEPTH]), cell.zero_state(100, tf.float32))
    zeros = np.mean(run(output) == 0)
    assert 0.3 < zeros < 0.7
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        cells.DropoutWrapper(cells.BasicRNNCell(UNITS), 1.5)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="not RNNCell"):
        cells.OutputProjectionWrapper(3, 2)
    with pytest.raises(ValueError, match="output_size must be > 0"):
        cells.OutputProjectionWrapper(cells.BasicRNNCell(UNITS), 0)
    with pytest.raises(ValueError, match="at least one cell"):
        cells.MultiRNNCell([])
    with pytest.raises(ValueError, match="must be specified"):
        cells.linear([], 3, True)
    with pytest.raises(ValueError, match="to be known"):
        cells.linear(tf.placeholder(tf.float32, [2, None]), 3, True)
