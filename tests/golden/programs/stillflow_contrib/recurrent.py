"""Recurrent networks as functions of the library, and their gradients."""

from __future__ import annotations

import collections

import numpy as np
from tests.golden.registry import Run, program

INPUTS = np.sin(np.arange(24, dtype=np.float32)).reshape([2, 4, 3])
LENGTHS = np.array([2, 4], np.int32)
State = collections.namedtuple("State", ("value", "power"))


def _polynomial(tf, cell_grad=None, **settings):
    """Return a polynomial by Horner's other way, and its gradients."""
    theta = [tf.constant(2.0)]
    inputs = [tf.constant([1.0, 2.0, 3.0, 4.0])]
    first = State(tf.constant(0.5), tf.constant(1.0))

    def cell(theta, state, inputs):
        return State(state.value + inputs[0] * state.power, state.power * theta[0]), []

    states, last = tf.contrib.recurrent.Recurrent(
        theta, first, inputs, cell, cell_grad, **settings)
    grads = tf.gradients(last.value * 2 + tf.reduce_sum(states.power),
                         [theta[0], first.value, first.power, inputs[0]])
    return Run({"states": states, "last": last, "gradients": grads})


@program
def polynomials(tf):
    return _polynomial(tf)


@program
def polynomials_of_some_terms(tf):
    return _polynomial(tf, max_input_length=tf.constant(3))


@program
def polynomials_by_while(tf):
    return _polynomial(tf, use_tpu=True, aligned_end=True, max_input_length=tf.constant(2))


@program
def gradients_of_ones_own(tf):
    def grad(theta, state, inputs, extras, d_state):
        return ([d_state.power * state.power],
                State(d_state.value, d_state.value * inputs[0] + d_state.power * theta[0]),
                [d_state.value * state.power])

    return _polynomial(tf, grad)


@program
def one_time(tf):
    return Run({"found": tf.contrib.recurrent.Recurrent(
        [], [tf.constant(1.0)], [tf.constant([3.0])],
        lambda theta, state, inputs: ([state[0] * inputs[0]], []), max_input_length=1)})


def _network(tf, cell, **settings):
    tf.set_random_seed(1)
    inputs = tf.constant(INPUTS)
    outputs, state = tf.contrib.recurrent.functional_rnn(
        cell, inputs, dtype=tf.float32, **settings)
    grads = tf.gradients(tf.reduce_sum(tf.square(outputs)),
                         [inputs, *tf.trainable_variables()])
    return Run({"outputs": outputs, "state": state, "gradients": grads},
               setup=[tf.global_variables_initializer()],
               facts={"variables": [each.name for each in tf.trainable_variables()]})


@program
def gated_units(tf):
    return _network(tf, tf.nn.rnn_cell.GRUCell(3))


@program
def long_short_term_memories(tf):
    return _network(tf, tf.nn.rnn_cell.LSTMCell(3), sequence_length=tf.constant(LENGTHS))


@program
def backwards(tf):
    return _network(tf, tf.nn.rnn_cell.BasicRNNCell(3), sequence_length=tf.constant(LENGTHS),
                    reverse=True, scope="back")


@program
def loops_of_while(tf):
    cell = tf.contrib.rnn.OutputProjectionWrapper(tf.nn.rnn_cell.GRUCell(3), 2)
    return _network(tf, cell, use_tpu=True, time_major=True)


def _both_ways(tf, **settings):
    tf.set_random_seed(1)
    cells = [tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.LSTMCell(2)]
    found = tf.contrib.recurrent.bidirectional_functional_rnn(
        *cells, tf.constant(INPUTS), dtype=tf.float32, **settings)
    return Run({"found": found}, setup=[tf.global_variables_initializer()])


@program
def both_ways(tf):
    return _both_ways(tf, sequence_length=tf.constant(LENGTHS))


@program
def both_ways_fast(tf):
    return _both_ways(tf, fast_reverse=True, time_major=True)
