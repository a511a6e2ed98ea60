"""Recurrent networks as layers of PyTorch: outputs, states, training, weights; other loops."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.export.networks import (
    CELLS,
    SOFT,
    both_ways,
    cudnn,
    cudnn_both_ways,
    cudnn_gru,
    cudnn_relu,
    double,
    dropped,
    dynamic,
    fused,
    fused_cell,
    fused_unrolled,
    gated,
    keras,
    keras_at_once,
    keras_gru,
    keras_gru_at_once,
    keras_gru_unrolled,
    keras_plain,
    keras_unrolled,
    keras_without_bias,
    lengths,
    lengths_of_two,
    one_matrix,
    residual,
    resources,
    sample_of,
    series,
    started_by_the_caller,
    two_layers,
    unrolled,
    unrolled_plain,
)

import stillflow as tf
from stillflow.export import to_pt2, to_torch

pytestmark = pytest.mark.filterwarnings("ignore")

KINDS: dict[Callable[[], list[Any]], list[str]] = {
    two_layers: ["LSTM", "LSTM"], both_ways: ["LSTM", "LSTM"], lengths: ["LSTM"],
    lengths_of_two: ["RNN", "RNN"], one_matrix: ["LSTM"], started_by_the_caller: ["LSTM"],
    double: ["LSTM"], resources: ["LSTM"], unrolled: ["LSTMCell"],
    unrolled_plain: ["RNNCell", "RNNCell"], dropped: ["LSTM", "RNN"], residual: ["LSTM", "LSTM"],
    fused_cell: ["LSTM"], fused_unrolled: ["LSTMCell"], keras: ["LSTM"], keras_at_once: ["LSTM"],
    fused: ["LSTM"], cudnn: ["LSTM"], cudnn_both_ways: ["LSTM"], cudnn_gru: ["GRU"],
    cudnn_relu: ["RNN"], keras_gru: ["GRU"], keras_gru_at_once: ["GRU"],
    keras_gru_unrolled: ["GRUCell"], keras_plain: ["RNN"],
    keras_without_bias: ["LSTM"], keras_unrolled: ["LSTMCell"],
}  # fmt: skip


LAYERS = (torch.nn.RNNBase, torch.nn.RNNCellBase)


def exported(build: Callable[[], list[Any]], path: Any = None) -> Any:
    """Return the module of a graph's outputs, as compared with the session."""
    with tf.Graph().as_default() as graph, tf.Session(config=SOFT) as session:
        tf.set_random_seed(2)
        outputs = build()
        session.run(tf.global_variables_initializer())
        for number, variable in enumerate(tf.trainable_variables()):  # biases are not zero
            shape = session.run(variable).shape
            values = np.random.default_rng(number).normal(size=shape) / 2
            session.run(variable.initializer, {variable.initial_value: values})
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        samples = {tensor.op.name: sample_of(tensor) for tensor in inputs}
        model = to_torch(session, inputs, outputs, path, samples)
        model.variables = {v.op.name: session.run(v) for v in tf.trainable_variables()}
    return model


def layers_of(model: Any) -> list[str]:
    return [type(each).__name__ for each in model.modules() if isinstance(each, LAYERS)]


@pytest.mark.parametrize("build", KINDS, ids=lambda f: f.__name__)
def test_networks_are_layers(build: Any) -> None:
    model = exported(build)
    assert layers_of(model) == KINDS[build]
    assert model.comparison.largest < 1e-6
    assert "while True" not in model.source
    assert "array" not in model.source[model.source.index("def forward") :].partition("return")[0]


def restored(state: dict[str, Any], layers: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return TensorFlow's variables from the weights of layers."""
    found: dict[str, Any] = {}
    for key, (name, order, *more) in layers.items():
        rows, gates, shape = [*more, None, None, None][:3]
        value = state[key] if shape is None else state[key].reshape(-1)
        parts = value.chunk(len(gates or [0]))
        value = torch.cat([parts[gate] for gate in np.argsort(gates)]) if gates else value
        value = value if order is None else value.permute(*np.argsort(order))
        found.setdefault(name, {})[rows or (0, 0)] = value
    return {name: torch.cat([v for _, v in sorted(parts.items())]).numpy()
            for name, parts in found.items()}  # fmt: skip


@pytest.mark.parametrize(
    "build",
    [two_layers, unrolled, lengths_of_two, fused_cell, keras, keras_gru, cudnn_both_ways],
    ids=lambda f: f.__name__,
)
def test_variables_follow_from_the_weights(build: Any) -> None:
    model = exported(build)
    namespace: dict[str, Any] = {}
    exec(model.source, namespace)
    found = restored(model.state_dict(), namespace["LAYERS"])
    assert found.keys() == model.variables.keys()
    for name, value in model.variables.items():
        np.testing.assert_array_equal(found[name].reshape(value.shape), value)


@pytest.mark.parametrize(
    "build",
    [two_layers, both_ways, one_matrix, lengths_of_two, unrolled, dropped, residual, fused_cell,
     fused_unrolled, keras, keras_without_bias, keras_unrolled, fused, cudnn, cudnn_gru,
     keras_gru, keras_gru_at_once],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_training_gives_the_same_losses(build: Any) -> None:
    rate, steps = 0.1, 20
    with tf.Graph().as_default() as graph, tf.Session(config=SOFT) as session:
        tf.set_random_seed(2)
        parts = [tf.reduce_mean(tf.square(each - 0.4)) for each in build()]
        loss = tf.add_n(parts)
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        fed = {each: sample_of(each).astype(each.dtype.as_numpy_dtype) for each in inputs}
        step = tf.train.GradientDescentOptimizer(rate).minimize(loss)
        session.run(tf.global_variables_initializer())
        model = to_torch(session, inputs, [loss], samples={k.op.name: v for k, v in fed.items()})
        expected = [session.run([loss, step], fed)[0] for _ in range(steps)]
    assert layers_of(model) == KINDS[build]
    optimizer = torch.optim.SGD(model.parameters(), rate)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(*map(torch.from_numpy, fed.values()))
        output.backward()
        optimizer.step()
        found.append(output.item())
    assert expected[-1] < 0.9 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    constants = {k: v for k, v in model.named_parameters() if not v.requires_grad}
    assert all(key.rpartition(".")[2].startswith("bias_hh") for key in constants)


@pytest.mark.parametrize(
    "build", [two_layers, lengths, keras, keras_gru_at_once, gated], ids=lambda f: f.__name__
)
def test_weights_of_frozen_loops_are_trained(build: Any) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        output = build()[0]
        session.run(tf.global_variables_initializer())
        count = len(tf.trainable_variables())
        frozen = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), [output.op.name]
        )
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        samples = {each.op.name: sample_of(each) for each in inputs}
        model = to_torch(session, inputs, [output.name], samples=samples)
    assert layers_of(model) == KINDS.get(build, [])
    assert len(list(model.parameters())) >= count
    given = [torch.from_numpy(value) for value in map(sample_of, inputs)]
    model(*(each.float() if each.is_floating_point() else each for each in given)).sum().backward()
    assert all(each.grad is not None for each in model.parameters() if each.requires_grad)


def test_dropout_draws_at_each_step() -> None:
    with tf.Graph().as_default() as graph, tf.Session(config=SOFT) as session:
        outputs = dropped(0.5)
        session.run(tf.global_variables_initializer())
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        model = to_torch(session, inputs, outputs[:1], verify=False)
    assert layers_of(model) == KINDS[dropped]
    found = model(torch.full((500,), 5), torch.randn(500, 5, 3))
    kept = (found != 0).float()
    torch.testing.assert_close(kept.mean((0, 2))[1:], torch.full((4,), 0.5), atol=0.05, rtol=0)
    assert (kept[:, 1:] != kept[:, :-1]).any()


@pytest.mark.parametrize(("rows", "time"), [(4, 0), (0, 5), (1, 1)])
def test_series_without_rows_or_steps(rows: int, time: int) -> None:
    model = exported(both_ways)
    n = torch.full((rows,), time, dtype=torch.int32)
    outputs = model(n, torch.zeros(rows, time, 3))
    shapes = [tuple(each.shape) for each in outputs]
    assert shapes == [(rows, time, 4)] * 2 + [(rows, 4)] * 4


def test_the_folder_needs_pytorch_alone(tmp_path: Path) -> None:
    exported(lengths_of_two, str(tmp_path / "model"))
    program = (
        "import sys; sys.modules['stillflow'] = None; sys.modules['numpy'] = None\n"
        "import test_model; test_model.test_outputs_are_those_recorded()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "model", check=True)


def test_programs_of_torch_export_have_the_layers(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session(config=SOFT) as session:
        outputs = two_layers()
        session.run(tf.global_variables_initializer())
        to_pt2(session, ["x:0"], outputs, str(tmp_path / "model.pt2"))
    program = torch.export.load(tmp_path / "model.pt2")
    assert any("lstm" in str(node.target) for node in program.graph.nodes)


# ---- loops that are no layers


def keras_reset_before() -> list[Any]:
    return [tf.keras.layers.GRU(4, recurrent_activation="sigmoid")(series())]


def peepholes() -> list[Any]:
    return dynamic(CELLS.LSTMCell(4, use_peepholes=True))


def hard_sigmoid() -> list[Any]:
    return [tf.keras.layers.LSTM(4)(series())]


def memories() -> list[Any]:
    """Return every memory, which no layer gives."""
    cell = CELLS.LSTMCell(4)

    def step(time: Any, output: Any, state: Any, loop: Any) -> Any:
        state = cell.zero_state(4, tf.float32) if output is None else state
        given = None if output is None else state.c
        return tf.fill([4], time >= 5), rows.read(tf.minimum(time, 4)), state, given, loop

    rows = tf.TensorArray(tf.float32, 5, clear_after_read=False)
    rows = rows.unstack(tf.transpose(series(), [1, 0, 2]))
    found, state, _ = tf.nn.raw_rnn(cell, step)
    return [found.stack(), state.h]


def fused_lengths() -> list[Any]:
    n = tf.placeholder(tf.int32, [None], "n")
    x = tf.transpose(series(), [1, 0, 2])
    cell = tf.contrib.rnn.LSTMBlockFusedCell(4)
    return [cell(x, dtype=tf.float32, sequence_length=n)[0]]


def shared() -> list[Any]:
    cell = CELLS.LSTMCell(3)
    first, _ = tf.nn.dynamic_rnn(cell, series(), dtype=tf.float32)
    second, _ = tf.nn.dynamic_rnn(cell, first, dtype=tf.float32)
    return [second]


def shorter() -> list[Any]:
    """Return the results of a loop that ends before the series."""
    x = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(series(), [1, 0, 2]))
    cell = CELLS.LSTMCell(4)
    made = tf.TensorArray(tf.float32, 3)

    def step(time: Any, state: Any, made: Any) -> Any:
        output, state = cell(x.read(time), state)
        return time + 1, state, made.write(time, output)

    start = 0, cell.zero_state(4, tf.float32), made
    _, state, made = tf.while_loop(lambda time, *_: time < 3, step, start)
    return [made.stack(), state.c]


@pytest.mark.parametrize(
    "build",
    [gated, keras_reset_before, peepholes, hard_sigmoid, memories, shared, shorter],
    ids=lambda f: f.__name__,
)
def test_other_loops_stay_loops(build: Any) -> None:
    model = exported(build)
    assert layers_of(model) == []
    assert "while True" in model.source


def test_an_operation_that_gives_all_memories_stays_one() -> None:
    assert layers_of(exported(fused_lengths)) == []


def test_a_dense_layer_of_two_inputs_is_no_cell() -> None:
    def build() -> list[Any]:
        x, h = (tf.placeholder(tf.float32, [None, 4], name) for name in "xh")
        return [tf.layers.dense(tf.concat([x, h], 1), 4, tf.nn.tanh)]

    assert layers_of(exported(build)) == []
