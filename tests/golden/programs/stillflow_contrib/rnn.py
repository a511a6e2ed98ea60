"""tf.contrib.rnn: cells with few gates, with units open at times, with normalized weights."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import InternalNames, Run, program

_CELLS = "contrib.rnn.python.ops.rnn_cell"


def _inputs(tf, steps=3, depth=2):
    return tf.constant(np.linspace(-1, 1, 2 * steps * depth).reshape(2, steps, depth), tf.float32)


def _run(tf, cell, inputs):
    """Return the run of a cell along a sequence, with its gradients."""
    tf.set_random_seed(9)
    with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-1, 1, seed=5)):
        outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    weights = tf.trainable_variables()
    gradients = tf.gradients(tf.reduce_sum(outputs), weights)
    return Run({"outputs": outputs, "state": state, "gradients": gradients},
               setup=[tf.global_variables_initializer()])


@program
def minimal_cells(tf):
    init = tf.random_uniform_initializer(-1, 1, seed=3)
    cell = InternalNames(tf, _CELLS).MinimalRNNCell(4, kernel_initializer=init)
    return _run(tf, cell, _inputs(tf))


@program
def cells_free_of_chaos(tf):
    init = tf.random_uniform_initializer(-1, 1, seed=3)
    cells = InternalNames(tf, _CELLS)
    cell = cells.CFNCell(3, activation="relu", kernel_initializer=init, name="cfn")
    return _run(tf, cell, _inputs(tf))


@program
def sizes_of_cells_with_few_gates(tf):
    cells = InternalNames(tf, _CELLS)
    made = [cells.MinimalRNNCell(4), cells.CFNCell(3)]
    return Run(facts={"sizes": [[cell.state_size, cell.output_size] for cell in made]})


@program
def units_open_at_times(tf):
    values = _inputs(tf)
    times = tf.constant([[[1.0], [2.5], [9.0]], [[0.5], [4.0], [4.5]]])
    cell = tf.contrib.rnn.PhasedLSTMCell(3, use_peepholes=True, leak=0.01, ratio_on=0.3,
                                         period_init_min=2.0, period_init_max=4.0)
    return _run(tf, cell, (times, values))


@program
def units_open_for_a_fixed_part(tf):
    times = tf.constant([[[1.0], [2.0], [3.0]]] * 2)
    cell = tf.contrib.rnn.PhasedLSTMCell(2, trainable_ratio_on=False)
    run = _run(tf, cell, (times, _inputs(tf)))
    return [run, Run(facts={"trained": [v.op.name for v in tf.trainable_variables()],
                            "sizes": [cell.output_size, list(cell.state_size)]})]


@program
def normalized_weights(tf):
    cell = InternalNames(tf, _CELLS).WeightNormLSTMCell(
        3, use_peepholes=True, cell_clip=0.6, num_proj=2, proj_clip=0.4,
        initializer=tf.random_uniform_initializer(-1, 1, seed=7))
    return _run(tf, cell, _inputs(tf))


@program
def weights_that_are_not_normalized(tf):
    cell = InternalNames(tf, _CELLS).WeightNormLSTMCell(2, norm=False, activation=tf.nn.relu)
    return _run(tf, cell, _inputs(tf))
