"""Random recurrent cells of tf.nn.rnn_cell and tf.contrib.rnn, run by random loops and trained."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import outcomes

ROWS, STEPS, WIDTH = 3, 4, 3  # the inputs
TRAINED = 2
LIMIT = 60
NOISE = 1e-5

#: Cells by name, as functions of the program `p` and the number of units.
CELLS: dict[str, Callable[[Any, int], Any]] = {
    "BasicLSTMCell": lambda p, units: p.cells.BasicLSTMCell(
        units, **p.some(forget_bias=[0.0, 2.0], activation=p.activations, name=["own"])
    ),
    "BasicRNNCell": lambda p, units: p.cells.BasicRNNCell(
        units, **p.some(activation=p.activations, name=["own"])
    ),
    "CoupledInputForgetGateLSTMCell": lambda p, units: p.more.CoupledInputForgetGateLSTMCell(
        units,
        **p.some(use_peepholes=[True], num_proj=[2], forget_bias=[0.5], layer_norm=[True]),
    ),
    "GRUBlockCellV2": lambda p, units: p.more.GRUBlockCellV2(units),
    "GRUCell": lambda p, units: p.cells.GRUCell(
        units,
        **p.some(
            activation=p.activations, kernel_initializer=p.initializers,
            bias_initializer=p.initializers,
        ),
    ),
    "GridLSTMCell": lambda p, units: p.more.GridLSTMCell(
        units, feature_size=1, frequency_skip=1, num_frequency_blocks=[WIDTH],
        **p.some(use_peepholes=[True], share_time_frequency_weights=[True]),
    ),
    "HighwayWrapper": lambda p, units: p.more.HighwayWrapper(p.cells.GRUCell(WIDTH)),
    "InputProjectionWrapper": lambda p, units: p.more.InputProjectionWrapper(p.cell(units), 2),
    "IndRNNCell": lambda p, units: p.more.IndRNNCell(units, **p.some(activation=p.activations)),
    "IndyGRUCell": lambda p, units: p.more.IndyGRUCell(units),
    "IndyLSTMCell": lambda p, units: p.more.IndyLSTMCell(units, **p.some(forget_bias=[0.5])),
    "IntersectionRNNCell": lambda p, units: p.more.IntersectionRNNCell(
        WIDTH, **p.some(num_in_proj=[WIDTH], y_activation=p.activations)
    ),
    "LSTMBlockCell": lambda p, units: p.more.LSTMBlockCell(
        units, **p.some(forget_bias=[0.5], cell_clip=[0.2], use_peephole=[True])
    ),
    "LSTMCell": lambda p, units: p.cells.LSTMCell(
        units,
        **p.some(
            use_peepholes=[True], cell_clip=[0.2], initializer=p.initializers, num_proj=[2],
            proj_clip=[0.1], forget_bias=[0.0], state_is_tuple=[True, True, False],
            activation=p.activations, num_unit_shards=[None, 1],
        ),
    ),
    "LayerNormBasicLSTMCell": lambda p, units: p.more.LayerNormBasicLSTMCell(
        units, **p.some(layer_norm=[False], forget_bias=[0.5], norm_gain=[0.5], norm_shift=[0.1])
    ),
    "LayerNormLSTMCell": lambda p, units: p.more.LayerNormLSTMCell(
        units, **p.some(use_peepholes=[True], num_proj=[2], layer_norm=[True], cell_clip=[0.3])
    ),
    "MultiRNNCell": lambda p, units: p.cells.MultiRNNCell(
        [p.cell(p.choose([1, 2])) for _ in range(p.choose([1, 2, 3]))],
        **p.some(state_is_tuple=[True]),
    ),
    "NASCell": lambda p, units: p.more.NASCell(units, **p.some(num_proj=[2], use_bias=[True])),
    "OutputProjectionWrapper": lambda p, units: p.more.OutputProjectionWrapper(p.cell(units), 2),
    "ResidualWrapper": lambda p, units: p.cells.ResidualWrapper(p.cells.GRUCell(WIDTH)),
    "SRUCell": lambda p, units: p.more.SRUCell(WIDTH),
    "UGRNNCell": lambda p, units: p.more.UGRNNCell(
        units, **p.some(forget_bias=[0.5], initializer=p.initializers)
    ),
    "DropoutWrapper": lambda p, units: p.cells.DropoutWrapper(
        p.cell(units),
        seed=p.choose([1, 7]),
        **p.some(input_keep_prob=[0.5], output_keep_prob=[0.6], state_keep_prob=[0.7]),
    ),
    "DeviceWrapper": lambda p, units: p.cells.DeviceWrapper(p.cell(units), "/cpu:0"),
    "AttentionCellWrapper": lambda p, units: p.more.AttentionCellWrapper(
        p.cells.LSTMCell(units), p.choose([2, 3]), state_is_tuple=True
    ),
    "TimeFreqLSTMCell": lambda p, units: p.more.TimeFreqLSTMCell(
        units, feature_size=1, frequency_skip=1, **p.some(use_peepholes=[True])
    ),
}  # fmt: skip
SIMPLE = ("BasicRNNCell", "GRUCell", "LSTMCell", "BasicLSTMCell", "UGRNNCell")

#: One iteration after the other: with several at a time, the order of masks is random.
ORDERED = {"parallel_iterations": 1}

#: How cells are run: functions of the program, of the cells' names and of the inputs.
LOOPS: dict[str, Callable[[Any, str, Any], Any]] = {
    "bidirectional_dynamic_rnn": lambda p, name, x: p.tf.nn.bidirectional_dynamic_rnn(
        p.made(name), p.made(name), x, dtype=p.tf.float32, **p.lengths(), **ORDERED
    ),
    "dynamic_rnn": lambda p, name, x: p.tf.nn.dynamic_rnn(
        p.made(name), x, dtype=p.tf.float32, **p.lengths(),
        **p.some(swap_memory=[True]), **ORDERED,
    ),
    "dynamic_rnn from a state": lambda p, name, x: _from_zero(p, p.made(name), x),
    "dynamic_rnn of time first": lambda p, name, x: p.tf.nn.dynamic_rnn(
        p.made(name), p.tf.transpose(x, [1, 0, 2]), time_major=True, dtype=p.tf.float32,
        **ORDERED,
    ),
    "one step": lambda p, name, x: _one_step(p, p.made(name), x),
    "static_bidirectional_rnn": lambda p, name, x: p.tf.nn.static_bidirectional_rnn(
        p.made(name), p.made(name), p.tf.unstack(x, STEPS, 1), dtype=p.tf.float32
    ),
    "static_rnn": lambda p, name, x: p.tf.nn.static_rnn(
        p.made(name), p.tf.unstack(x, STEPS, 1), dtype=p.tf.float32, **p.lengths()
    ),
}  # fmt: skip


def _from_zero(p: Any, cell: Any, x: Any) -> Any:
    return p.tf.nn.dynamic_rnn(
        cell, x, initial_state=cell.zero_state(ROWS, p.tf.float32), **ORDERED
    )


def _one_step(p: Any, cell: Any, x: Any) -> Any:
    return cell(x[:, 0], cell.zero_state(p.tf.shape(x)[0], p.tf.float32))


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; a case is a cell, a loop, and the seed of its arguments.

    Args:
      seed: of the first case; other seeds share none with it for 100,000 cases.
      names: cells to keep to; all of them, if there are none.
    """
    for number in itertools.count(seed * 100_000):
        rng = random.Random(number)
        cell = rng.choice([name for name in sorted(CELLS) if not names or name in names])
        yield {"name": cell, "loop": rng.choice(sorted(LOOPS)), "seed": number, "changes": 0}


class Program:
    """Arguments of cells; the choices depend on the seed only."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf, self.cells, self.more = tf, tf.nn.rnn_cell, tf.contrib.rnn
        self.random = random.Random(seed)
        self.numbers = np.random.RandomState(seed % 2**31)
        self.activations = [tf.nn.relu, tf.tanh, tf.nn.elu, "sigmoid"]
        self.initializers = [
            tf.ones_initializer(),
            tf.random_uniform_initializer(-0.5, 0.5),
            tf.orthogonal_initializer(),
        ]

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def some(self, **arguments: list[Any]) -> dict[str, Any]:
        """Return some of the arguments, each one of its values."""
        return {
            name: self.choose(values)
            for name, values in sorted(arguments.items())
            if self.random.random() < 0.3
        }

    def lengths(self) -> dict[str, Any]:
        """Return the lengths of sequences, now and then."""
        return self.some(sequence_length=[[4, 2, 0], [1, 4, 3]])

    def made(self, name: str) -> Any:
        """Return a cell of a name."""
        return CELLS[name](self, self.choose([1, 2, 3]))

    def cell(self, units: int) -> Any:
        """One of the simple cells."""
        return CELLS[self.choose(SIMPLE)](self, units)


def run(tf: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Run a cell in a loop, and train it for some steps."""
    p = Program(tf, case["seed"])
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        try:
            x = tf.placeholder(tf.float32, p.choose([[ROWS, STEPS, WIDTH], [None, STEPS, WIDTH]]))
            found = tf.contrib.framework.nest.flatten(LOOPS[case["loop"]](p, case["name"], x))
            parts = [part for part in found if part.dtype == tf.float32]
            loss = tf.add_n([tf.reduce_mean(tf.square(part)) for part in parts])
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        except Exception as error:
            return outcomes.failed("build", error, nodes=outcomes.nodes_of(graph))
        told = {
            "result": [[v.name, str(v.shape)] for v in tf.global_variables()],
            "shapes": outcomes.shapes_of(parts),
            "nodes": outcomes.nodes_of(graph),
            "unseeded": outcomes.draws_unseeded(graph),
            "noise": NOISE,
        }
        batch = np.round(p.numbers.uniform(-1, 1, [ROWS, STEPS, WIDTH]), 2)
        values: list[Any] = []
        try:
            with tf.Session(config=outcomes.one_thread(tf)) as session:
                session.run(tf.global_variables_initializer())
                for _ in range(TRAINED):
                    values += session.run([loss, *parts], {x: batch})
                    session.run(train, {x: batch})
                values += session.run(tf.global_variables())
        except Exception as error:
            return outcomes.failed("run", error, **told)
        return outcomes.done(values=[outcomes.pack(value) for value in values], **told)
