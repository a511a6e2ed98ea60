"""Cells of recurrent networks: variables, one step, gradients, wrappers, errors."""

from __future__ import annotations

from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


def one_step(tf, cell, size=3):
    """Return a step of a cell from a state that is not zero, with its gradients."""
    x = tf.placeholder(tf.float32, [2, size])
    state = cell.zero_state(2, tf.float32)
    flat = [s + 0.25 * (i + 1) for i, s in enumerate(tf.contrib.framework.nest.flatten(state))]
    state = tf.contrib.framework.nest.pack_sequence_as(state, flat)
    output, new_state = cell(x, state)
    variables = tf.trainable_variables()
    gradients = tf.gradients(tf.reduce_sum(output * output), [x] + variables)
    facts = {"variables": [f"{v.name} {v.shape}" for v in tf.global_variables()],
             "weights": [v.name for v in cell.weights], "sizes": str(cell.state_size)}
    fetches = {"output": output, "state": tf.contrib.framework.nest.flatten(new_state),
               "gradients": [g for g in gradients if g is not None]}
    return Run(fetches, {x: wave(2, size)}, setup=[tf.global_variables_initializer()],
               facts=facts)


def stepping(name, make):
    def build(tf):
        tf.set_random_seed(7)
        return one_step(tf, make(tf))

    build.__name__, build.__module__ = name, __name__
    return program(build)


for _name, _make in {
    "basic": lambda tf: tf.nn.rnn_cell.BasicRNNCell(4),
    "basic_relu": lambda tf: tf.nn.rnn_cell.BasicRNNCell(4, activation="relu", name="cell"),
    "gru": lambda tf: tf.nn.rnn_cell.GRUCell(4),
    "gru_initializers": lambda tf: tf.nn.rnn_cell.GRUCell(
        4, kernel_initializer=tf.random_normal_initializer(seed=3),
        bias_initializer=tf.constant_initializer(0.5)),
    "basic_lstm": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(4, forget_bias=0.5),
    "basic_lstm_joined_state": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(4, state_is_tuple=False),
    "lstm": lambda tf: tf.nn.rnn_cell.LSTMCell(4, initializer=tf.orthogonal_initializer(seed=1)),
    "lstm_peepholes": lambda tf: tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, cell_clip=0.3),
    "lstm_projection": lambda tf: tf.nn.rnn_cell.LSTMCell(4, num_proj=2, proj_clip=0.1),
    "lstm_shards": lambda tf: tf.nn.rnn_cell.LSTMCell(
        4, num_proj=2, num_unit_shards=2, num_proj_shards=2, state_is_tuple=False),
    "multi": lambda tf: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.LSTMCell(3)]),
    "multi_joined_state": lambda tf: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.BasicRNNCell(3)], state_is_tuple=False),
    "residual": lambda tf: tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(3)),
    "residual_function": lambda tf: tf.nn.rnn_cell.ResidualWrapper(
        tf.nn.rnn_cell.GRUCell(4), residual_fn=lambda x, y: x[:, :1] * y),
    "device": lambda tf: tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(4), "/cpu:0"),
    "dropout": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(4), 0.8, 0.7, 0.6, seed=5),
    "dropout_variational": lambda tf: tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(4), 0.8, 0.7, 0.6, variational_recurrent=True, input_size=3,
        dtype=tf.float32, seed=5),
    "layer_norm_lstm": lambda tf: tf.contrib.rnn.LayerNormBasicLSTMCell(
        4, dropout_keep_prob=0.5, dropout_prob_seed=2),
    "lstm_block": lambda tf: tf.contrib.rnn.LSTMBlockCell(4, use_peephole=True, cell_clip=0.3),
    "gru_block": lambda tf: tf.contrib.rnn.GRUBlockCellV2(4),
    "nas": lambda tf: tf.contrib.rnn.NASCell(4, num_proj=2, use_bias=True),
    "update_gate": lambda tf: tf.contrib.rnn.UGRNNCell(4),
    "intersection": lambda tf: tf.contrib.rnn.IntersectionRNNCell(4, num_in_proj=4),
    "grouped_lstm": lambda tf: tf.contrib.rnn.GLSTMCell(4, num_proj=2, number_of_groups=1),
    "independent": lambda tf: tf.contrib.rnn.IndyLSTMCell(4),
    "simple_unit": lambda tf: tf.contrib.rnn.SRUCell(3),
    "attention": lambda tf: tf.contrib.rnn.AttentionCellWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(4), 3),
    "grid": lambda tf: tf.contrib.rnn.GridLSTMCell(
        2, feature_size=2, frequency_skip=1, num_frequency_blocks=[2]),
    "grid_peepholes": lambda tf: tf.contrib.rnn.GridLSTMCell(
        2, use_peepholes=True, cell_clip=0.2, num_unit_shards=2, feature_size=2, frequency_skip=1,
        num_frequency_blocks=[1, 1], start_freqindex_list=[0, 1], end_freqindex_list=[2, 3]),
    "grid_shared": lambda tf: tf.contrib.rnn.GridLSTMCell(
        2, use_peepholes=True, share_time_frequency_weights=True, feature_size=2, frequency_skip=1,
        num_frequency_blocks=[2], couple_input_forget_gates=True, state_is_tuple=False),
    "grid_both_ways": lambda tf: tf.contrib.rnn.BidirectionalGridLSTMCell(
        2, share_time_frequency_weights=True, feature_size=2, frequency_skip=1,
        num_frequency_blocks=[2], backward_slice_offset=1),
    "projections": lambda tf: tf.contrib.rnn.OutputProjectionWrapper(
        tf.contrib.rnn.InputProjectionWrapper(tf.nn.rnn_cell.GRUCell(4), 2, activation=tf.tanh),
        3),
}.items():
    stepping(_name, _make)


@program
def refusals(tf):
    cells = tf.nn.rnn_cell
    return Run(facts={
        "no_cells": raised(cells.MultiRNNCell, []),
        "no_list": raised(cells.MultiRNNCell, cells.GRUCell(2))["class"],
        "joined_tuples": raised(cells.MultiRNNCell, [cells.LSTMCell(2)], state_is_tuple=False),
        "probability": raised(cells.DropoutWrapper, cells.GRUCell(2), input_keep_prob=1.5),
        "variational": raised(
            cells.DropoutWrapper, cells.GRUCell(2), variational_recurrent=True),
        "depth": raised(cells.GRUCell(2), tf.placeholder(tf.float32, [2, None]),
                        tf.zeros([2, 2])),
        "rank": raised(cells.GRUCell(2), tf.zeros([3]), tf.zeros([2, 2])),
        "integers": raised(cells.GRUCell(2), tf.ones([2, 3], tf.int32), tf.ones([2, 2], tf.int32)),
        "initial_state": raised(cells.GRUCell(2).get_initial_state),
    })


@program
def compiled_cells(tf):
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [2, 3])
    outputs = []
    for stateful in (False, True):
        cell = tf.contrib.rnn.CompiledWrapper(tf.nn.rnn_cell.BasicLSTMCell(2), stateful)
        outputs.append(cell(x, cell.zero_state(2, tf.float32), scope=f"cell_{int(stateful)}")[0])
    return Run({"outputs": outputs}, {x: wave(2, 3)}, setup=[tf.global_variables_initializer()],
               facts={"sizes": [str(cell.state_size), cell.output_size]})


@program
def wrappers_of_newer_names(tf):
    tf.set_random_seed(7)
    wrappers = tf.compat.v2.nn
    x = tf.placeholder(tf.float32, [2, 1, 3])  # TensorFlow's loops draw in any order of steps
    cells = [
        wrappers.RNNCellDropoutWrapper(
            tf.keras.layers.GRUCell(2), 0.8, state_keep_prob=0.7, output_keep_prob=0.6, seed=5),
        wrappers.RNNCellResidualWrapper(tf.keras.layers.LSTMCell(3)),
        wrappers.RNNCellDeviceWrapper(tf.keras.layers.SimpleRNNCell(2), "/cpu:0"),
    ]
    outputs = [tf.keras.layers.RNN(cell)(x) for cell in cells]
    again = [type(cell).from_config(cell.get_config()) for cell in cells[1:]]
    step, _ = cells[1](x[:, 0], [tf.zeros([2, 3])] * 2)
    return Run({"outputs": outputs, "step": step}, {x: wave(2, 1, 3)},
               setup=[tf.global_variables_initializer()], facts={
        "variables": [v.name for cell in cells for v in cell.trainable_weights],
        "sizes": [[str(cell.state_size), cell.output_size] for cell in cells],
        "configs": [cell.get_config() for cell in again],
    })
