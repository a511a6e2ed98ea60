"""Recurrent cells in several dimensions."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

INPUTS = np.sin(np.arange(12, dtype=np.float32)).reshape([2, 6])
CELLS = ("Grid1BasicRNNCell", "Grid2BasicRNNCell", "Grid1BasicLSTMCell", "Grid2BasicLSTMCell",
         "Grid1LSTMCell", "Grid2LSTMCell", "Grid3LSTMCell", "Grid2GRUCell")


def _stepped(tf, make, steps=1, inputs=INPUTS, **settings):
    """Return outputs and states of a cell after some steps."""
    cell = getattr(tf.contrib.grid_rnn, make)(3, **settings)
    state = cell.zero_state(2, tf.float32)
    for step in range(steps):
        with tf.variable_scope(make, reuse=step > 0):
            output, state = cell(tf.constant(inputs), state)
    return cell, {"output": output, "state": state}


def _run(tf, fetches, cells):
    return Run(fetches, setup=[tf.global_variables_initializer()], facts={
        "variables": [each.name for each in tf.global_variables()],
        "sizes": [[str(cell.output_size), str(cell.state_size)] for cell in cells]})


def _all(tf, names, **settings):
    tf.set_random_seed(1)
    stepped = [_stepped(tf, name, **settings) for name in names]
    return _run(tf, {name: fetches for name, (_, fetches) in zip(names, stepped)},
                [cell for cell, _ in stepped])


@program
def usual_cells(tf):
    return _all(tf, CELLS)


@program
def tied_cells(tf):
    return _all(tf, [name for name in CELLS if "Grid1" not in name], tied=True, steps=2)


@program
def joined_states_and_outputs(tf):
    names = [name for name in CELLS if "LSTM" in name]
    return _all(tf, names, state_is_tuple=False, output_is_tuple=False)


@program
def dense_dimensions(tf):
    tf.set_random_seed(1)
    with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
        return _all(tf, ["Grid2BasicRNNCell", "Grid3LSTMCell", "Grid2GRUCell"],
                    non_recurrent_fn=tf.tanh)


@program
def peepholes(tf):
    return _all(tf, ["Grid1LSTMCell", "Grid2LSTMCell"], use_peepholes=True, forget_bias=0.5)


@program
def several_inputs_and_outputs(tf):
    return _all(tf, ["GridRNNCell"], num_dims=3, input_dims=[0, 2], output_dims=[0, 1],
                priority_dims=[1])


@program
def dimensions_of_every_kind(tf):
    with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
        return _all(tf, ["GridRNNCell"], num_dims=4, input_dims=1, output_dims=[3, 1],
                    priority_dims=[2, 1], non_recurrent_dims=[1], steps=2,
                    cell_fn=lambda units: tf.contrib.rnn.GRUCell(units))


@program
def no_inputs(tf):
    return _all(tf, ["Grid2LSTMCell"], inputs=np.zeros([2, 0], np.float32))


@program
def over_time(tf):
    tf.set_random_seed(1)
    cell = tf.contrib.grid_rnn.Grid2LSTMCell(3, state_is_tuple=True)
    outputs, state = tf.nn.static_rnn(
        cell, [tf.constant(INPUTS), tf.constant(INPUTS * 0.5)], dtype=tf.float32)
    return _run(tf, {"outputs": outputs, "state": state}, [cell])


@program
def refused(tf):
    make = tf.contrib.grid_rnn.GridRNNCell
    cell = make(3, 2, input_dims=0)
    return Run(facts={
        "dims": raised(make, 3, 0),
        "invalid": raised(make, 3, 2, input_dims=[0, 2]),
        "negative": raised(make, 3, 2, output_dims=-1),
        "cell": raised(make, 3, cell_fn=lambda units: units),
        "joined": raised(_stepped, tf, "Grid2GRUCell", state_is_tuple=False)["class"],
        "state": raised(cell, tf.constant(INPUTS), cell.zero_state(2, tf.float32)[:1]),
    })
