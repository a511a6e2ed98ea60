"""Recurrent networks run as one step over all iterations give what the iterations give."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.loops import recurrences

# Each test builds a graph of its own; loops of GPUs run iteration by iteration.
pytestmark = pytest.mark.usefixtures("graph", "cpu")

TIME, DEPTH, CELLS = 6, 5, 3
LENGTHS = [0, 6, 2, 5]


@pytest.fixture
def taken(monkeypatch):
    """Return a list that counts the loops that ran as one step."""
    done = []
    put = recurrences.Recurrence._put
    monkeypatch.setattr(
        recurrences.Recurrence, "_put", lambda self, known: (done.append(self), put(self, known))[1]
    )
    return done


def lstm(**options):
    return tf.nn.rnn_cell.LSTMCell(CELLS, **options)


def stacked():
    cells = [tf.nn.rnn_cell.LSTMCell(CELLS), tf.nn.rnn_cell.BasicLSTMCell(CELLS + 2)]
    return tf.nn.rnn_cell.MultiRNNCell(cells)


class HalfCell(tf.nn.rnn_cell.GRUCell):
    """A unit with 2 - u instead of 1 - u."""

    def call(self, inputs, state):
        both = tf.concat([inputs, state], 1)
        gates = tf.sigmoid(tf.nn.bias_add(tf.matmul(both, self._gate_kernel), self._gate_bias))
        r, u = tf.split(gates, 2, 1)
        both = tf.matmul(tf.concat([inputs, r * state], 1), self._candidate_kernel)
        new = u * state + (2 - u) * tf.tanh(tf.nn.bias_add(both, self._candidate_bias))
        return new, new


CELLS_TAKEN = {
    "lstm": lstm,
    "basic": lambda: tf.nn.rnn_cell.BasicLSTMCell(CELLS, forget_bias=0.25),
    "stacked": stacked,
    "peepholes": lambda: lstm(use_peepholes=True),
    "gru": lambda: tf.nn.rnn_cell.GRUCell(CELLS),
    "gru, stacked": lambda: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.GRUCell(CELLS), tf.nn.rnn_cell.GRUCell(CELLS + 2)]
    ),
    "tanh": lambda: tf.nn.rnn_cell.BasicRNNCell(CELLS),
    "tanh, gru and lstm": lambda: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.BasicRNNCell(CELLS), tf.nn.rnn_cell.GRUCell(CELLS), lstm()]
    ),
}
NATIVE = [kind for kind in CELLS_TAKEN if "gru" in kind or "tanh" in kind]
OTHERS = {
    "projection": lambda: lstm(num_proj=2),
    "clipping": lambda: lstm(cell_clip=0.5),
    "relu": lambda: lstm(activation=tf.nn.relu),
    "gru, relu": lambda: tf.nn.rnn_cell.GRUCell(CELLS, tf.nn.relu),
    "gru of a factor": lambda: HalfCell(CELLS),
    "dropout": lambda: tf.nn.rnn_cell.DropoutWrapper(lstm(), state_keep_prob=0.5, seed=1),
}


def network(cell, dtype=tf.float32, lengths=None, time_major=False, of=("outputs", "state")):
    """Return the outputs and states of a network, and its loss with all gradients."""
    tf.set_random_seed(1)
    x = tf.placeholder(dtype, [TIME, None, DEPTH] if time_major else [None, TIME, DEPTH], name="x")
    outputs, state = tf.nn.dynamic_rnn(
        cell, x, dtype=dtype, sequence_length=lengths, time_major=time_major
    )
    states = tf.contrib.framework.nest.flatten(state)
    terms = [tf.reduce_sum(outputs * outputs)] if "outputs" in of else []
    terms += [tf.reduce_sum(tf.sin(each)) for each in states] if "state" in of else []
    loss = tf.add_n(terms)
    gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
    return x, [outputs, *states], [loss, *gradients]


def values(x, fetches, batch=4, time_major=False):
    """Run the fetches with weights that are the same each time."""
    random = np.random.RandomState(0)
    shape = (TIME, batch, DEPTH) if time_major else (batch, TIME, DEPTH)
    given = random.randn(*shape)
    with tf.Session() as session:
        for variable in tf.trainable_variables():
            variable.load(random.randn(*variable.shape.as_list()) * 0.4, session)
        return [session.run(each, {x: given}) for each in fetches]


def both(monkeypatch, x, *fetches, **options):
    """Return the values of networks as one step, and iteration by iteration."""
    fused = values(x, fetches, **options)
    with monkeypatch.context() as patch:
        patch.setattr(recurrences.Recurrence, "least", 1 << 40)
        plain = values(x, fetches, **options)
    return [np.concatenate([np.ravel(v) for run in each for v in run]) for each in (fused, plain)]


def check(monkeypatch, x, *fetches, rtol=2e-6, **options):
    # Sums of up to 100 products of numbers of about 1, in another order.
    fused, plain = both(monkeypatch, x, *fetches, **options)
    np.testing.assert_allclose(fused, plain, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("kind", CELLS_TAKEN)
def test_outputs_states_and_gradients_are_those_of_the_iterations(
    monkeypatch, taken, either_way, kind, lengths
):
    check(monkeypatch, *network(CELLS_TAKEN[kind](), lengths=lengths))
    # Forward; forward and backward. The kernel of LSTMs alone has a plain way.
    runs = 3 if either_way == "native" or kind not in NATIVE else 0
    assert len(taken) == runs


@pytest.mark.parametrize("of", ["outputs", "state"])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("kind", ["lstm", "peepholes", "gru", "tanh"])
def test_a_loss_may_take_outputs_or_states_alone(monkeypatch, taken, kind, lengths, of):
    check(monkeypatch, *network(CELLS_TAKEN[kind](), lengths=lengths, of=(of,)))
    assert len(taken) == 3


@pytest.mark.parametrize("kind", ["lstm", "peepholes"])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_double_precision(monkeypatch, taken, kind, lengths):
    x, *fetches = network(CELLS_TAKEN[kind](), tf.float64, lengths)
    check(monkeypatch, x, *fetches, rtol=1e-14)
    assert len(taken) == 3


@pytest.mark.parametrize("kind", ["gru", "tanh"])
def test_double_precision_of_others(monkeypatch, taken, kind):
    x, *fetches = network(CELLS_TAKEN[kind](), tf.float64)
    check(monkeypatch, x, *fetches, rtol=0)
    assert not taken


@pytest.mark.parametrize("kind", ["lstm", "peepholes", "gru", "tanh"])
@pytest.mark.parametrize("batch", [0, 1, 30])
def test_any_batch_and_order_of_axes(monkeypatch, taken, kind, batch):
    x, *fetches = network(CELLS_TAKEN[kind](), time_major=True)
    check(monkeypatch, x, *fetches, batch=batch, time_major=True)
    assert len(taken) == 3


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_a_state_in_one_matrix(monkeypatch, taken, lengths):
    cell = tf.nn.rnn_cell.BasicLSTMCell(CELLS, state_is_tuple=False)
    x, results, gradients = network(cell, lengths=lengths)
    check(monkeypatch, x, results)
    assert len(taken) == 1
    check(monkeypatch, x, gradients)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_cells_run_iteration_by_iteration(taken, kind):
    x, results, _ = network(OTHERS[kind]())
    values(x, [results])
    assert not taken


def test_gradients_of_no_numbers_are_those_of_the_iterations(monkeypatch, taken):
    x, _, (loss, of_x, *_) = network(tf.nn.rnn_cell.GRUCell(CELLS), lengths=[TIME, 2])
    given = np.ones((2, TIME, DEPTH), np.float32)
    given[0, 1, 2], given[1, 4, 0] = np.inf, np.nan  # before and after the ends
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fused = session.run([loss, of_x], {x: given})
        monkeypatch.setattr(recurrences.Recurrence, "least", 1 << 40)
        plain = session.run([loss, of_x], {x: given})
    assert len(taken) == 2
    for mine, other in zip(fused, plain, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-6, atol=2e-6)


def test_more_taken_from_the_body_keeps_the_iterations(monkeypatch, taken):
    class Shown(tf.nn.rnn_cell.LSTMCell):
        """Its output is the forget gate's input, too, which the fused step never has."""

        def call(self, inputs, state):
            output, new = super().call(inputs, state)
            split = next(op for op in inputs.graph.get_operations()[::-1] if op.type == "Split")
            return output + split.outputs[2], new

    check(monkeypatch, *network(Shown(CELLS)))
    assert not taken


@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
def test_both_directions(monkeypatch, taken, kind):
    x = tf.placeholder(tf.float32, [None, TIME, DEPTH])
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        CELLS_TAKEN[kind](), CELLS_TAKEN[kind](), x, sequence_length=LENGTHS, dtype=tf.float32
    )
    loss = tf.reduce_sum(tf.square(tf.concat(outputs, 2)))
    fetches = [*outputs, *tf.contrib.framework.nest.flatten(states)]
    check(monkeypatch, x, fetches, [loss, *tf.gradients(loss, tf.trainable_variables())])
    assert len(taken) == 6


@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
def test_imported_frozen_graph(monkeypatch, taken, kind):
    x, results, _ = network(CELLS_TAKEN[kind]())
    random = np.random.RandomState(1)
    names = [each.op.name for each in results]
    with tf.Session() as session:
        for variable in tf.trainable_variables():
            variable.load(random.randn(*variable.shape.as_list()), session)
        frozen = tf.graph_util.convert_variables_to_constants(
            session, tf.get_default_graph().as_graph_def(), names
        )
        expected = session.run(results, {x: np.ones((2, TIME, DEPTH))})
    del taken[:]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(frozen, name="imported")
        fetches = [f"imported/{name}:0" for name in names]
        found = session.run(fetches, {"imported/x:0": np.ones((2, TIME, DEPTH))})
    assert len(taken) == 1
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-6)


@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
def test_values_that_are_no_numbers_stay_in_their_rows(monkeypatch, taken, kind):
    x, results, _ = network(CELLS_TAKEN[kind](), lengths=LENGTHS)
    given = np.ones((4, TIME, DEPTH), np.float32)
    given[2, 3:] = np.nan  # after the end of that sequence
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in session.run(results, {x: given}):
            assert np.isfinite(value).all()
        given[1, 2] = np.inf
        found = session.run(results[0], {x: given})
    assert len(taken) == 2
    assert np.isfinite(found[[0, 2, 3]]).all()


def test_a_traced_run_goes_iteration_by_iteration(taken):
    x, results, _ = network(lstm())
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(results, {x: np.ones((2, TIME, DEPTH))}, options, metadata)
    ran = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    assert sum("Sigmoid_2" in name for name in ran) == TIME
    assert not taken
