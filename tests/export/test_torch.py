"""Graphs as PyTorch modules: values, gradients, names, branches, loops, and what is in the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.export import ExportError, to_torch
from stillflow.ops.values import from_array

pytestmark = pytest.mark.filterwarnings("ignore")


def started(graph: tf.Graph) -> tf.Session:
    with graph.as_default():
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session


@pytest.fixture
def perceptron() -> Any:
    """Yield a graph with a loss, and its session."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float32, [None, 5], "x")
        labels = tf.placeholder(tf.int32, [None], "labels")
        hidden = tf.layers.dense(x, 7, tf.nn.tanh, name="hidden")
        logits = tf.layers.dense(hidden, 3, name="logits")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses, name="loss")
        tf.gradients(loss, tf.trainable_variables(), name="slopes")
    with started(graph) as session:
        yield session, loss


def batch() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(4, 5)).astype(np.float32), np.int32([0, 2, 1, 1])


def test_the_module_computes_what_the_session_does(perceptron: Any) -> None:
    session, _ = perceptron
    model = to_torch(session, ["x:0"], ["logits/BiasAdd:0", "hidden/Tanh:0"])
    x, _ = batch()
    outputs = model(torch.from_numpy(x))
    expected = session.run(["logits/BiasAdd:0", "hidden/Tanh:0"], {"x:0": x})
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output.detach(), wanted, rtol=1e-6, atol=1e-6)


def test_parameters_are_named_after_variables(perceptron: Any) -> None:
    session, _ = perceptron
    model = to_torch(session, ["x:0"], ["logits/BiasAdd:0"])
    names = [name for name, _ in model.named_parameters()]
    assert sorted(names) == ["hidden.bias", "hidden.weight", "logits.bias", "logits.weight"]
    kernel = session.run("hidden/kernel:0")
    assert np.array_equal(model.state_dict()["hidden.weight"], kernel.T)
    assert "'hidden.weight': ('hidden/kernel', (1, 0))" in model.source


def test_autograd_gives_the_gradients_of_the_graph(perceptron: Any) -> None:
    session, loss = perceptron
    model = to_torch(session, ["x:0", "labels:0"], [loss])
    x, labels = batch()
    model(torch.from_numpy(x), torch.from_numpy(labels)).backward()
    with session.graph.as_default():
        slopes = tf.gradients(loss, tf.trainable_variables())
    expected = session.run(slopes, {"x:0": x, "labels:0": labels})
    variables = session.graph.get_collection("trainable_variables")
    parameters = dict(model.named_parameters())
    for variable, wanted in zip(variables, expected, strict=True):
        found = parameters[variable.op.name.replace("/", ".").replace("kernel", "weight")].grad
        np.testing.assert_allclose(found, wanted.T, rtol=1e-5, atol=1e-6)


def test_a_switch_for_training_follows_the_module() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 2], "x")
        training = tf.placeholder(tf.bool, [], "is_training")
        normal = tf.layers.batch_normalization(x, training=training)
        y = tf.identity(tf.layers.dropout(normal, 0.5, training=training), "y")
    with started(graph) as session:
        model = to_torch(session, None, [y])
        image = np.random.default_rng(0).normal(2, 3, (4, 6, 6, 2)).astype(np.float32)
        resting = session.run(y, {x: image, training: False})
    found = model(torch.from_numpy(image)).detach()
    np.testing.assert_allclose(found, resting, rtol=1e-5, atol=1e-5)
    model.train()
    output = model(torch.from_numpy(image))
    assert 0.3 < (output == 0).float().mean() < 0.7
    assert abs(output.mean()) < 0.3  # normalized with the batch's own mean


def test_weights_of_a_frozen_graph_are_parameters() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], "x")
        weight = tf.constant([[1.0], [2.0]], name="layer/weight")
        y = tf.multiply(tf.matmul(x, weight), 3.0, name="y")
    with tf.Session(graph=graph) as session:
        model = to_torch(session, [x], [y])
    assert [name for name, _ in model.named_parameters()] == ["layer.weight"]
    model(torch.ones(1, 2)).sum().backward()
    assert model.layer.weight.grad.tolist() == [[3.0, 3.0]]  # of nn.Linear


def test_standard_layers_are_those_of_pytorch() -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        x = tf.placeholder(tf.float32, [None, 9, 9, 3], "x")
        training = tf.placeholder(tf.bool, [], "is_training")
        y = tf.layers.conv2d(x, 6, 3, 2, "same", activation=tf.nn.relu, name="first")
        y = tf.layers.batch_normalization(y, training=training, momentum=0.9, name="norm")
        y = tf.layers.conv2d(y, 4, 5, padding="valid", use_bias=False, name="second")
        y = tf.layers.dense(tf.layers.flatten(y), 2, name="last")
        update = tf.group(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    with started(graph) as session:
        model = to_torch(session, [x], [y])
        kinds = {name: type(part).__name__ for name, part in model.named_children()}
        assert kinds == {
            "first": "Conv2d", "norm": "BatchNorm2d", "second": "Conv2d", "last": "Linear",
        }  # fmt: skip
        image = np.random.default_rng(5).normal(1, 2, (4, 9, 9, 3)).astype(np.float32)
        wanted, _ = session.run([y, update], {x: image, training: True})
        model.train()
        found = model(torch.from_numpy(image)).detach()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        average = session.run("norm/moving_mean:0")
        np.testing.assert_allclose(model.norm.running_mean, average, rtol=1e-5, atol=1e-6)
        rested = session.run(y, {x: image, training: False})
    model.eval()
    found = model(torch.from_numpy(image)).detach()
    np.testing.assert_allclose(found, rested, rtol=1e-4, atol=1e-5)


def test_images_may_have_their_channels_first(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        x = tf.placeholder(tf.float32, [None, 9, 8, 3], "x")
        y = tf.layers.conv2d(x, 6, 3, 2, "same", activation=tf.nn.relu, name="first")
        y = tf.layers.batch_normalization(y, name="norm")
        y = tf.concat([y, tf.layers.max_pooling2d(y, 3, 1, "same")], 3)
        image = tf.pad(y * 2.0 - 1.0, [[0, 0], [1, 0], [0, 2], [0, 1]])
        flat = tf.layers.dense(tf.layers.flatten(y), 2, name="last")
        mean = tf.reduce_mean(tf.nn.relu6(y), [1, 2])
    samples = {"x": np.random.default_rng(5).normal(size=(2, 9, 8, 3))}
    with started(graph) as session:
        outputs, folder = [y, image, flat, mean], tmp_path / "model"
        model = to_torch(session, [x], outputs, str(folder), samples, layout="nchw")
        usual = to_torch(session, [x], outputs)
        wanted = session.run(outputs, {x: samples["x"]})
    found = model(torch.from_numpy(samples["x"].transpose(0, 3, 1, 2).astype(np.float32)))
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        other = other.transpose(0, 3, 1, 2) if place < 2 else other
        np.testing.assert_allclose(one.detach(), other, rtol=1e-4, atol=1e-5)
    # Around the padding and before the flat part, not where PyTorch's layers follow each other.
    assert model.source.count("permute") <= 4 < usual.source.count("permute")
    program = "import test_model; test_model.test_outputs_are_those_recorded()"
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=120)


def test_branches_become_if_statements() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1, name="choice")
    with tf.Session(graph=graph) as session:
        model = to_torch(session, [x], [y])
        assert "else:" in model.source
        for values in ([1.0, 2.0], [-1.0, -2.0]):
            wanted = session.run(y, {x: values})
            assert model(torch.tensor(values)).tolist() == wanted.tolist()


def test_loops_become_while_statements() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], "x")
        count = tf.placeholder(tf.int32, [], "count")
        _, y = tf.while_loop(
            lambda i, y: i < count, lambda i, y: (i + 1, tf.sin(y) + x), [tf.constant(0), x]
        )
    with tf.Session(graph=graph) as session:
        model = to_torch(session, [x, count], [y])
        for turns in (0, 1, 5):
            wanted = session.run(y, {x: [1, 2, 3], count: turns})
            found = model(torch.tensor([1.0, 2.0, 3.0]), torch.tensor(turns, dtype=torch.int32))
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_recurrent_networks_of_any_length_go_out() -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, None, 4], "x")
        lengths = tf.placeholder(tf.int32, [None], "lengths")
        cell = tf.nn.rnn_cell.LSTMCell(5)
        outputs, _ = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        y = tf.reduce_sum(outputs, 1, name="y")
    with started(graph) as session:
        model = to_torch(session, [x, lengths], [y], samples={
            "x": np.random.default_rng(0).normal(size=(3, 6, 4)), "lengths": [2, 6, 1],
        })  # fmt: skip
        series = np.random.default_rng(1).normal(size=(2, 4, 4)).astype(np.float32)
        wanted = session.run(y, {x: series, lengths: [4, 3]})
    found = model(torch.from_numpy(series), torch.tensor([4, 3], dtype=torch.int32))
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-5, atol=1e-6)
    found.sum().backward()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert all(parameter.grad.abs().sum() > 0 for parameter in trained)


def test_shapes_are_numbers_of_python() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3, 4], "x")
        y = tf.reshape(x, [tf.shape(x)[0] * 3, 4], name="y")
    with tf.Session(graph=graph) as session:
        model = to_torch(session, [x], [y])
    assert "x.reshape(" in model.source
    assert "torch.tensor(" not in model.source
    assert model(torch.zeros(5, 3, 4)).shape == (15, 4)


def test_what_is_in_the_way_is_named_with_its_line_and_a_cut() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        odd = tf.py_func(lambda v: v * 2, [x], tf.float32, name="odd")
        y = tf.add(odd, 1.0, name="y")
    with tf.Session(graph=graph) as session:
        with pytest.raises(ExportError) as caught:
            to_torch(session, [x], [y])
        message = str(caught.value)
        assert "odd (PyFunc) runs Python code" in message
        assert "test_torch.py:" in message
        assert "--inputs x:0,odd:0" in message
        model = to_torch(session, ["odd:0"], [y])
    assert model(torch.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([], ["y:0"], "depend on x:0"),
        (["x:0"], ["nothing:0"], "no tensor nothing:0"),
        (["x:0"], ["value"], "has no value"),
    ],
)
def test_bad_requests_end_in_an_error(inputs: Any, outputs: Any, message: str) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        tf.add(x, 1.0, name="y")
        tf.get_variable("v", [2])
        tf.identity(graph.get_tensor_by_name("v/read:0"), "value")
    with tf.Session(graph=graph) as session, pytest.raises(ExportError, match=message):
        to_torch(session, inputs, outputs)


def test_dead_branches_and_cycles_end_in_an_error(tmp_path: Path, capsys: Any) -> None:
    from stillflow.cli import export

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        _, dead = tf.raw_ops.Switch(data=x, pred=tf.constant(False))
        y = tf.add(dead, 1.0, name="y")
        message = graph.as_graph_def()
    with tf.Session(graph=graph) as session, pytest.raises(ExportError, match="has no value"):
        to_torch(session, [x], [y])
    message.node[-1].input[0] = "z"
    again = message.node.add(name="z", op="Identity", input=["y"])
    again.attr["T"].type = 1
    (tmp_path / "cycle.pb").write_bytes(message.SerializeToString())
    common = [str(tmp_path / "cycle.pb"), "--outputs", "z:0", "-o", str(tmp_path / "made")]
    for kind in ("torch", "onnx", "pt2"):
        assert export.main([*common, "--to", kind]) == 1
        assert capsys.readouterr().err.startswith("stillflow: ")
    assert not (tmp_path / "made").exists()


def test_a_sample_must_fit(perceptron: Any) -> None:
    session, _ = perceptron
    with pytest.raises(ExportError, match="sample for x:0"):
        to_torch(session, ["x:0"], ["hidden/Tanh:0"], samples={"x": np.zeros((2, 9))})


# ---- folders


def test_the_folder_works_without_stillflow(perceptron: Any, tmp_path: Path) -> None:
    session, _ = perceptron
    folder = tmp_path / "model"
    to_torch(session, ["x:0"], ["logits/BiasAdd:0"], str(folder))
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.py", "model.safetensors", "recorded.safetensors", "test_model.py",
    ]  # fmt: skip
    program = (
        "import sys; sys.modules['stillflow'] = None; sys.modules['numpy'] = None\n"
        "import test_model; test_model.test_outputs_are_those_recorded()\n"
        "import model; print(model.INPUTS, model.OUTPUTS, model.load().training)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["('x:0',)", "('logits/BiasAdd:0',)", "False"]


def test_nothing_is_left_where_an_export_fails(perceptron: Any, tmp_path: Path) -> None:
    session, _ = perceptron
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(errors.AlreadyExistsError):
        to_torch(session, ["x:0"], ["hidden/Tanh:0"], str(tmp_path / "there"))
    with pytest.raises(ExportError):
        to_torch(session, ["x:0"], ["nothing:0"], str(tmp_path / "new"))
    (tmp_path / "plain").touch()
    with pytest.raises(errors.OpError):
        to_torch(session, ["x:0"], ["hidden/Tanh:0"], str(tmp_path / "plain" / "new"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "there"]
    to_torch(session, ["x:0"], ["hidden/Tanh:0"], str(tmp_path / "there"), force=True)
    assert (tmp_path / "there" / "model.py").exists()


def test_counters_of_loops_are_numbers_of_python() -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 4, 3], "x")
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(5), x, dtype=tf.float32)
        y = tf.identity(outputs, "y")
    with started(graph) as session:
        model = to_torch(session, [x], [y])
        program = torch.export.export(model, (torch.zeros(2, 4, 3),))
        series = np.random.default_rng(1).normal(size=(2, 4, 3)).astype(np.float32)
        wanted = session.run(y, {x: series})
    assert "bool(" not in model.source
    found = program.module()(torch.from_numpy(series))
    np.testing.assert_allclose(found.detach(), wanted, rtol=1e-5, atol=1e-6)


def test_names_that_python_cannot_read() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], "1/x-y")
        again = tf.placeholder(tf.float32, [None, 2], "1/x.y")
        weights = tf.get_variable("class/2-w", initializer=[[1.0, 2.0], [3.0, float("nan")]])
        y = tf.multiply(x + again, weights[0], name="while/None")
    with started(graph) as session:
        model = to_torch(session, [x, again], [y])
        assert list(model.state_dict()) == ["_x63lass._x32_x2dw"]
        assert model(torch.ones(1, 2), torch.ones(1, 2)).tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "complex64"])
def test_types_and_extreme_values(dtype: str, tmp_path: Path) -> None:
    kind = tf.as_dtype(dtype)
    extremes = [kind.min, kind.max, 1] if kind.is_integer else [float("nan"), -float("inf"), 3e-7]
    given = np.array([extremes, extremes[::-1]]).astype(kind.as_numpy_dtype)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(kind, [None, 3], "x")
        bound = x if kind.is_complex else tf.maximum(x, tf.constant(extremes, kind))
        outputs = [tf.identity(x), bound, x + tf.constant(extremes[::-1], kind), x[:0]]
    with tf.Session(graph=graph) as session:
        expected = session.run(outputs, {x: given})
        model = to_torch(session, [x], outputs, str(tmp_path / "model"), samples={"x": given})
    assert model.comparison.equal
    for found, wanted in zip(model(from_array(given)), expected, strict=True):
        if dtype == "bfloat16":
            found, wanted = found.float(), wanted.astype(np.float32)
        np.testing.assert_array_equal(found.detach().numpy(), wanted)
    program = "import sys; sys.modules['stillflow'] = None; import test_model as t; "
    program += "t.test_outputs_are_those_recorded()"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "model", check=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_layers_have_the_types_of_their_weights(dtype: str) -> None:
    kind = tf.as_dtype(dtype)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.int32, [None, 4], "x")
        rows = tf.nn.embedding_lookup(tf.get_variable("table", [9, 6], kind), x)
        image = tf.reshape(rows, [-1, 4, 6, 1])
        if dtype == "float64":
            image = tf.layers.conv2d(image, 2, 3, padding="same")
        y = tf.layers.dense(tf.reshape(image, [-1, 24 if dtype != "float64" else 48]), 3)
    with started(graph) as session:
        model = to_torch(session, [x], [y])
    assert {each.dtype for each in model.parameters()} == {getattr(torch, dtype)}
    assert isinstance(model.dense, torch.nn.Linear) and isinstance(model.table, torch.nn.Embedding)


def test_gradients_of_equal_operands_are_those_of_the_graph() -> None:
    """The first of two equal operands has the whole gradient; PyTorch's functions split it."""
    with tf.Graph().as_default() as graph:
        x = tf.get_variable("x", initializer=[-1.0, 0.0, 2.0])
        y = tf.reduce_sum(tf.maximum(0.2 * x, x) + 3 * tf.minimum(x, 0.5 * x))
        (slope,) = tf.gradients(y, x)
    with started(graph) as session:
        model, wanted = to_torch(session, [], [y]), session.run(slope)
    model().backward()
    np.testing.assert_allclose(model.x.grad, wanted)


def test_instances_and_modules_have_tables_of_their_own() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.int64, [None], "x")
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
        with tf.control_dependencies([table.insert(x, x * 2)]):
            outputs = [table.size(), table.insert(x, x * 2)]
    with started(graph) as session:
        session.run(outputs, {x: [7]})
        first, second = (to_torch(session, [x], outputs, verify=False) for _ in range(2))
    third = type(first)()
    assert [first(torch.tensor([1, 2])), first(torch.tensor([2, 3]))] == [3, 4]
    assert [second(torch.tensor([1])), third(torch.tensor([8, 9, 10]))] == [2, 4]
    assert session.graph is graph


def test_a_module_may_be_compiled_by_inductor() -> None:
    if not has_compiler():
        pytest.skip("torch.compile's default backend needs a C++ compiler")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 3], "x")
        hidden, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)
        for number in range(2):
            with tf.variable_scope(f"layer_{number}"):
                hidden += tf.layers.dense(tf.tanh(tf.layers.dense(hidden, 4)), 4, name="out")
        y = tf.reduce_mean(tf.nn.softmax(hidden), [1])
    with started(graph) as session:
        model = to_torch(session, [x], [y])
    given = torch.randn(3, 6, 3)
    found, grads = [], []
    for run in (model, torch.compile(model)):
        model.zero_grad()
        output = run(given)
        output.square().sum().backward()
        found.append(output)
        grads.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    torch.testing.assert_close(*found)
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-6)


def has_compiler() -> bool:
    """Return True where PyTorch finds a C++ compiler that runs."""
    from torch._inductor import cpp_builder, exc

    try:
        return bool(cpp_builder.get_cpp_compiler())
    except exc.InvalidCxxCompiler:
        return False


def test_embeddings_are_modules() -> None:
    with tf.Graph().as_default() as graph:
        ids = tf.placeholder(tf.int32, [None, None], "ids")
        table = tf.get_variable("words/table", [7, 3])
        y = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1, name="y")
    with started(graph) as session:
        model = to_torch(session, [ids], [y])
        assert isinstance(model.words.table, torch.nn.Embedding)
        wanted = session.run(y, {ids: [[1, 2], [6, 0]]})
    np.testing.assert_allclose(model(torch.tensor([[1, 2], [6, 0]])).detach(), wanted, rtol=1e-6)


def test_rows_of_resource_variables() -> None:
    with tf.Graph().as_default() as graph:
        ids = tf.placeholder(tf.int32, [None, 2], "ids")
        table = tf.get_variable("table", [5, 3], use_resource=True)
        known = tf.cond(tf.is_variable_initialized(table), lambda: 1.0, lambda: 0.0)
        y = tf.gather_nd(table, ids) + known
    with started(graph) as session:
        model = to_torch(session, [ids], [y], samples={"ids": [[4, 2], [0, 1]]})
        wanted = session.run(y, {ids: [[3, 2]]})
    np.testing.assert_allclose(model(torch.tensor([[3, 2]])).detach(), wanted, rtol=1e-6)


def test_models_of_keras_go_out(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    from stillflow.cli import export

    with tf.Graph().as_default(), tf.Session():
        layers = [tf.keras.layers.Dense(3, input_shape=(4,)), tf.keras.layers.Softmax()]
        tf.keras.Sequential(layers).save(str(tmp_path / "model.h5"))
    arguments = [str(tmp_path / "model.h5"), "--to", "torch", "-o", str(tmp_path / "model")]
    assert export.main(arguments) == 0


def test_models_of_tensorflow_lite_go_out(tmp_path: Path) -> None:
    from stillflow.cli import export

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1, 4], "x")
        y = tf.nn.softmax(tf.matmul(x, tf.constant(np.eye(4, 3, dtype=np.float32))))
        converter = tf.lite.TFLiteConverter.from_session(session, [x], [y])
        (tmp_path / "model.tflite").write_bytes(converter.convert())
    arguments = [str(tmp_path / "model.tflite"), "--to", "torch", "-o", str(tmp_path / "model")]
    assert export.main(arguments) == 0


def test_layers_hold_the_scopes_inside_of_theirs() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 2], "x")
        y = tf.contrib.layers.conv2d(
            x, 3, 3, normalizer_fn=tf.contrib.layers.batch_norm,
            normalizer_params={"is_training": False, "scale": True}, scope="block/conv",
        )  # fmt: skip
    with started(graph) as session:
        model = to_torch(session, [x], [y])
    assert isinstance(model.block.conv, torch.nn.Conv2d)
    assert sorted(dict(model.named_parameters())) == [
        "block.conv.BatchNorm.beta", "block.conv.BatchNorm.gamma", "block.conv.weight",
    ]  # fmt: skip


def test_random_numbers_are_named_where_outputs_differ() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [100], "x")
        y = tf.add(x, tf.random_normal([100], seed=1), name="y")
    with tf.Session(graph=graph) as session:
        with pytest.raises(ExportError, match="random_normal/RandomStandardNormal draws random"):
            to_torch(session, [x], [y])
        model = to_torch(session, [x], [y], verify=False)
        _, series = tf.while_loop(
            lambda i, _: i < 3, lambda i, v: (i + 1, v + tf.random_uniform([100], name="draw")),
            [tf.constant(0), x],
        )  # fmt: skip
        with pytest.raises(ExportError, match="draw/RandomUniform draws random"):
            to_torch(session, [x], [series])
    assert 0.5 < model(torch.zeros(100)).std() < 1.5


def test_a_module_may_be_compiled() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 3], "x")
        hidden = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
        y = tf.layers.dense(tf.reduce_mean(tf.layers.batch_normalization(hidden), [1, 2]), 2)
        session.run(tf.global_variables_initializer())
        model = to_torch(session, [x], [y])
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    given = torch.randn(3, 8, 8, 3)
    for module in (model, compiled):
        model.zero_grad()
        module(given).square().sum().backward()
        grads = [each.grad.clone() for each in model.parameters() if each.grad is not None]
        if module is model:
            expected = grads
    torch.testing.assert_close(compiled(given), model(given))
    torch.testing.assert_close(grads, expected)
