"""ONNX models and torch.export programs of graphs: names, sizes that change, values."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.cli import export
from stillflow.export import ExportError, to_onnx, to_pt2

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def network() -> Any:
    """Yield a convolutional network, and its session."""
    with tf.Graph().as_default():
        tf.set_random_seed(4)
        x = tf.placeholder(tf.float32, [None, 12, 12, 3], "images/x")
        y = tf.layers.conv2d(x, 4, 3, 2, "same", activation=tf.nn.relu, name="conv")
        y = tf.layers.max_pooling2d(y, 3, 2, "same")
        y = tf.reshape(y, [tf.shape(y)[0], 3 * 3 * 4])
        tf.nn.softmax(tf.layers.dense(y, 5, name="dense"), name="answer")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            yield session


def batch(count: int) -> np.ndarray:
    return np.random.default_rng(count).normal(size=(count, 12, 12, 3)).astype(np.float32)


def test_programs_of_torch_export_take_any_batch(network: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "model.pt2")
    comparison = to_pt2(network, ["images/x:0"], ["answer:0"], path)
    assert comparison is not None
    assert comparison.equal
    module = torch.export.load(path).module()
    for count in (3, 7):
        wanted = network.run("answer:0", {"images/x:0": batch(count)})
        found = module(torch.from_numpy(batch(count)))
        np.testing.assert_allclose(found.detach(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of C++")
def test_programs_may_be_compiled(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        y = tf.nn.relu(tf.matmul(x, np.eye(3, 2, dtype=np.float32)) - 0.5)
        path = str(tmp_path / "model.pt2")
        comparison = to_pt2(session, [x], [y], path, compiled=True)
    assert comparison is not None
    assert comparison.equal
    found = torch._inductor.aoti_load_package(path)(torch.tensor([[1.0, 0.0, 9.0]]))
    assert found.tolist() == [[0.5, 0.0]]


def test_a_graph_that_depends_on_values_is_no_program(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)
    with tf.Session(graph=graph) as session, pytest.raises(ExportError, match="cannot trace"):
        to_pt2(session, [x], [y], str(tmp_path / "model.pt2"))
    assert not list(tmp_path.iterdir())


def test_models_of_onnx_keep_names_and_take_any_batch(network: Any, tmp_path: Path) -> None:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    path = str(tmp_path / "model.onnx")
    to_onnx(network, ["images/x:0"], ["answer:0"], path, {"images/x:0": {0: "batch"}})
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [each.name for each in model.graph.input] == ["images/x:0"]
    assert [each.name for each in model.graph.output] == ["answer:0"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert "agrees" in {each.key: each.value for each in model.metadata_props}["verified"]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for count in (1, 5):
        (found,) = session.run(None, {"images/x:0": batch(count)})
        wanted = network.run("answer:0", {"images/x:0": batch(count)})
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_missing_packages_are_named(network: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(errors.FailedPreconditionError, match=r"pip install 'stillflow\[onnx\]'"):
        to_onnx(network, ["images/x:0"], ["answer:0"], str(tmp_path / "model.onnx"))


def test_names_of_dimensions_are_checked(capsys: Any, tmp_path: Path, network: Any) -> None:
    with network.graph.as_default():
        prefix = tf.train.Saver().save(network, str(tmp_path / "model.ckpt"))
    common = [prefix, "--to", "pt2", "-o", str(tmp_path / "model.pt2"), "--outputs", "answer:0"]
    assert export.main([*common, "--dynamic", "images/x"]) == 1
    assert "does not name dimensions" in capsys.readouterr().err
    assert export.main([*common, "--dynamic", "images/x=batch"]) == 0
