"""Recurrent networks as operators of ONNX: outputs, states, lengths; loops that stay loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export import networks as n

import stillflow as tf
from stillflow.export import to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS: dict[Callable[[], list[Any]], list[str]] = {
    n.two_layers: ["LSTM", "LSTM"], n.both_ways: ["LSTM", "LSTM"], n.lengths: ["LSTM"],
    n.lengths_of_two: ["RNN", "RNN"], n.one_matrix: ["LSTM"], n.started_by_the_caller: ["LSTM"],
    n.resources: ["LSTM"], n.dropped: ["LSTM", "RNN"], n.residual: ["LSTM", "LSTM"],
    n.fused_cell: ["LSTM"], n.peepholes: ["LSTM"], n.gated: ["GRU"], n.gated_with_lengths: ["GRU"],
    n.cudnn: ["LSTM", "LSTM"], n.cudnn_both_ways: ["LSTM", "LSTM"], n.cudnn_gru: ["GRU", "GRU"],
    n.cudnn_relu: ["RNN", "RNN"], n.keras: ["LSTM"], n.keras_at_once: ["LSTM"],
    n.keras_without_bias: ["LSTM"], n.keras_hard: ["LSTM"], n.keras_hard_at_once: ["LSTM"],
    n.keras_gru: ["GRU"], n.keras_gru_at_once: ["GRU"], n.keras_gated: ["GRU"],
    n.keras_gated_at_once: ["GRU"], n.keras_gated_soft: ["GRU"], n.keras_gated_late: ["GRU"],
    n.keras_plain: ["RNN"],
    # operators take single precision, no projection, and no mask that keeps outputs
    n.double: ["Loop"], n.projected: ["Loop"], n.keras_masked: ["Loop"],
    n.fused: ["Loop"], n.fused_and_clipped: ["Loop"],  # all their memories are results
    n.unrolled: [], n.gated_unrolled: [], n.fused_unrolled: [],
}  # fmt: skip


def exported(build: Callable[[], list[Any]], path: Path) -> Any:
    """Write the model of a graph's outputs; return how far it is from the session."""
    with tf.Graph().as_default() as graph, tf.Session(config=n.SOFT) as session:
        tf.set_random_seed(2)
        outputs = build()
        session.run(tf.global_variables_initializer())
        for number, variable in enumerate(tf.trainable_variables()):  # biases are not zero
            shape = session.run(variable).shape
            values = np.random.default_rng(number).normal(size=shape) / 2
            session.run(variable.initializer, {variable.initial_value: values})
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        samples = {tensor.op.name: n.sample_of(tensor) for tensor in inputs}
        return to_onnx(session, inputs, outputs, str(path), samples=samples)


@pytest.mark.parametrize("build", OPERATORS, ids=lambda f: f.__name__)
def test_loops_are_operators(build: Any, tmp_path: Path) -> None:
    comparison = exported(build, tmp_path / "model.onnx")
    counts = Counter(node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node)
    assert [k for k in ("LSTM", "GRU", "RNN", "Loop") for _ in range(counts[k])] == OPERATORS[build]
    assert comparison.largest < 1e-6


@pytest.mark.parametrize("build", [n.lengths_of_two, n.peepholes, n.gated_with_lengths],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_series_of_other_lengths_run(build: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        outputs = build()
        session.run(tf.global_variables_initializer())
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        path, samples = str(tmp_path / "model.onnx"), {t.op.name: n.sample_of(t) for t in inputs}
        to_onnx(session, inputs, outputs, path, samples=samples)
        model = onnxruntime.InferenceSession(path)
        for lengths in ([5, 5], [1, 9]):  # 9 is beyond the end
            fed = {"x:0": samples["x"][:2].astype(np.float32), "n:0": np.array(lengths, np.int32)}
            for found, wanted in zip(model.run(None, fed), session.run(outputs, fed), strict=True):
                np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_dropout_of_inputs_is_drawn_by_the_model(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        outputs = n.dropped(0.5)[:1]
        session.run(tf.global_variables_initializer())
        inputs = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        to_onnx(session, inputs, outputs, path, verify=False)
    model = onnxruntime.InferenceSession(path)
    fed = {"x:0": np.ones((500, 5, 3), np.float32), "n:0": np.full(500, 5, np.int32)}
    first, second = model.run(None, fed)[0], model.run(None, fed)[0]
    assert abs((first == 0).mean() - 0.5) < 0.05 and (first != second).any()


def test_an_output_that_is_named_twice_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], "x")
        to_onnx(session, [x], [x + 1.0, "add:0", x * 2.0], str(path))
    assert [each.name for each in onnx.load(path).graph.output] == ["add:0", "mul:0"]
