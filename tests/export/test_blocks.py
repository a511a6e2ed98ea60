"""Repeated name scopes as one class: classes, keys, outputs, training; scopes that differ."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.export import to_torch
from stillflow.export.naming import keys_of

pytestmark = pytest.mark.filterwarnings("ignore")

LAYERS = 4


def encoder_layer(hidden: Any, mask: Any, width: int = 8) -> Any:
    """Return a layer as BERT has it: attention with two heads, and two dense layers."""
    batch, time = tf.shape(hidden)[0], tf.shape(hidden)[1]
    flat = tf.reshape(hidden, [-1, 8])
    with tf.variable_scope("attention"):
        with tf.variable_scope("self"):
            heads = [
                tf.transpose(
                    tf.reshape(tf.layers.dense(flat, 8, name=name), [batch, time, 2, 4]),
                    [0, 2, 1, 3],
                )
                for name in ("query", "key", "value")
            ]
            scores = tf.matmul(heads[0], heads[1], transpose_b=True) * 0.5 + mask
            mixed = tf.matmul(tf.nn.softmax(scores, name="shares"), heads[2])
            mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, 8])
        with tf.variable_scope("output"):
            flat = tf.contrib.layers.layer_norm(flat + tf.layers.dense(mixed, 8))
    with tf.variable_scope("intermediate"):
        inner = tf.layers.dense(flat, width, tf.nn.relu)
    with tf.variable_scope("output"):
        flat = tf.contrib.layers.layer_norm(flat + tf.layers.dense(inner, 8))
    return tf.reshape(flat, [batch, time, 8])


def transformer(widths: tuple[int, ...] = (8,) * LAYERS) -> Any:
    """Return the loss of a transformer, and the outputs of its layers."""
    x, y = tf.placeholder(tf.int32, [None, None], "x"), tf.placeholder(tf.int32, [None], "y")
    with tf.variable_scope("bert"):
        with tf.variable_scope("embeddings"):
            hidden = tf.nn.embedding_lookup(tf.get_variable("words", [12, 8]), x)
        with tf.variable_scope("encoder"):
            mask = -1e4 * tf.cast(tf.equal(x, 0), tf.float32)[:, tf.newaxis, tf.newaxis]
            outputs = []
            for number, width in enumerate(widths):
                with tf.variable_scope(f"layer_{number}"):
                    hidden = encoder_layer(hidden, mask, width)
                outputs.append(hidden)
    logits = tf.layers.dense(hidden[:, 0], 3, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    return tf.reduce_mean(losses), outputs


def residual_unit(image: Any, channels: int) -> Any:
    short = image
    if image.shape[3] != channels:
        short = tf.layers.conv2d(image, channels, 1, 2, use_bias=False, name="shortcut")
    for number in (1, 2):
        with tf.variable_scope(f"conv{number}"):
            strides = 2 if number == 1 and short is not image else 1
            image = tf.layers.conv2d(image, channels, 3, strides, "same", use_bias=False)
            image = tf.layers.batch_normalization(image, training=True, momentum=0.9)
            image = tf.nn.relu(image + short if number == 2 else image)
    return image


def residual_network() -> Any:
    """Return the loss of a residual network of two blocks of three units, and its features."""
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 4], "x"), tf.placeholder(tf.int32, [None], "y")
    image = x
    for block, channels in enumerate((4, 8)):
        for unit in range(3):
            with tf.variable_scope(f"net/block{block}/unit_{unit}/residual"):
                image = residual_unit(image, channels)
    logits = tf.layers.dense(tf.reduce_mean(image, [1, 2]), 3, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    return tf.reduce_mean(losses), [image]


def samples_of(inputs: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {"y": rng.integers(0, 3, 5)}
    for each in inputs:
        if each.op.name == "x":
            image = each.shape.ndims == 4
            made["x"] = rng.normal(size=(5, 8, 8, 4)) if image else rng.integers(0, 12, (5, 6))
    return {each.op.name: made[each.op.name].astype(each.dtype.as_numpy_dtype) for each in inputs}


def inputs_of(graph: Any) -> list[Any]:
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def exported(outputs: Any, session: Any, **options: Any) -> Any:
    session.run(tf.global_variables_initializer())
    inputs = inputs_of(session.graph)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    return to_torch(session, inputs, outputs, samples=samples_of(inputs), **options)


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as found:
        tf.set_random_seed(5)
        yield found


def classes_of(model: Any) -> dict[str, int]:
    """Return the classes of the source, but for the model's own, with their instances."""
    names = re.findall(r"^class (\w+)\(nn.Module\)", model.source, re.MULTILINE)
    kinds = [type(each).__name__ for each in model.modules()]
    return {name: kinds.count(name) for name in names if name not in ("Scope", "Model")}


def test_the_layers_of_a_transformer_are_one_class(session: Any) -> None:
    loss, outputs = transformer()
    model = exported([loss, outputs[-1]], session)
    assert classes_of(model) == {"Layer": LAYERS}
    assert model.comparison.largest < 1e-6
    assert isinstance(model.bert.encoder.layer_2, type(model.bert.encoder.layer_0))
    forward = model.source[model.source.rindex("def forward") :]
    assert "dense" not in forward.partition("def read_tensors")[0]
    assert "self.bert.encoder.layer_3(" in forward


def test_the_units_of_a_residual_network_are_classes(session: Any) -> None:
    loss, features = residual_network()
    model = exported([loss, *features], session)
    assert sorted(classes_of(model).values()) == [2, 3]  # block 0, and the last two of block 1
    assert model.comparison.largest < 1e-5
    assert "nn.Conv2d(4, 4, 3" in model.source.partition("class Model")[0]


@pytest.mark.parametrize("build", [transformer, residual_network])
def test_keys_are_the_names_of_variables(session: Any, build: Any) -> None:
    model = exported(build()[0], session)
    layers = re.findall(r"^    '([\w.]+)': \('([\w/]+)'", model.source, re.MULTILINE)
    keys = {key for key in model.state_dict() if "num_batches" not in key}
    names = {v.op.name for v in tf.global_variables()} - {name for _, name in layers}
    unused = {n for n in names if "moving" in n}
    assert keys == {*(key for key, _ in layers), *keys_of(names - unused).values()}


@pytest.mark.parametrize("build", [transformer, residual_network])
def test_training_gives_the_same_losses(session: Any, build: Any) -> None:
    loss, _ = build()
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    model = exported([loss], session)
    assert classes_of(model)
    fed = samples_of(inputs_of(session.graph))
    feeds = {f"{name}:0": value for name, value in fed.items()}
    expected = [session.run([loss, step], feeds)[0] for _ in range(20)]
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    found = []
    for _ in range(20):
        optimizer.zero_grad()
        output = model(*map(torch.from_numpy, fed.values()))
        output.backward()
        optimizer.step()
        found.append(output.item())
    assert expected[-1] < 0.9 * expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_values_inside_of_some_instances_may_be_outputs(session: Any) -> None:
    _, outputs = transformer()
    shares = "bert/encoder/layer_1/attention/self/shares:0"
    model = exported([outputs[-1], outputs[0], shares], session)
    assert classes_of(model) == {"Layer": LAYERS}
    assert model.comparison.largest < 1e-6


def test_layers_of_several_sizes_share_what_is_equal(session: Any) -> None:
    loss, _ = transformer((8, 16, 24))
    assert classes_of(exported(loss, session)) == {"Attention": 3, "LayerNorm": 3}


def test_channels_may_come_first(session: Any) -> None:
    _, features = residual_network()
    model = exported(features, session, layout="nchw")
    assert sorted(classes_of(model).values()) == [2, 3]
    assert model.comparison.largest < 1e-5


def test_the_folder_needs_pytorch_alone(session: Any, tmp_path: Path) -> None:
    exported(transformer()[1][-1], session, path=str(tmp_path / "model"))
    program = (
        "import sys; sys.modules['stillflow'] = None; sys.modules['numpy'] = None\n"
        "import test_model; test_model.test_outputs_are_those_recorded()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "model", check=True)


def test_scopes_with_the_same_weights_are_calls_of_one_instance(session: Any) -> None:
    def judged(x: Any) -> Any:
        with tf.variable_scope("judge", reuse=tf.AUTO_REUSE):
            hidden = tf.nn.softmax(2 * tf.layers.dense(x, 5, tf.nn.tanh, name="a"))
            return tf.layers.dense(hidden, 1, name="b") + tf.constant([[3.0]])

    real, fake = (tf.placeholder(tf.float32, [None, 4], name) for name in ("real", "fake"))
    outputs = [judged(real), judged(2 * fake)]
    loss = tf.reduce_mean(tf.nn.softplus(outputs[0]) + tf.square(outputs[1]))
    slopes = tf.gradients(loss, tf.trainable_variables())
    session.run(tf.global_variables_initializer())
    model = to_torch(session, [real, fake], [loss])
    assert classes_of(model) == {"Judge": 1}
    assert model.source.count("self.judge(") == 2
    assert sorted(model.state_dict()) == [
        "judge.a.bias", "judge.a.kernel", "judge.b.bias", "judge.b.kernel",
    ]  # fmt: skip
    given = [np.random.default_rng(n).normal(size=(6, 4)).astype("f") for n in range(2)]
    model(*map(torch.from_numpy, given)).backward()
    wanted = session.run(slopes, dict(zip((real, fake), given, strict=True)))
    grads = {name: each.grad for name, each in model.named_parameters()}
    for variable, slope in zip(tf.trainable_variables(), wanted, strict=True):
        found = grads[variable.op.name.replace("/", ".")]
        np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-6)


def test_weights_that_others_take_too_stay_in_place(session: Any) -> None:
    """The third scope computes something else with the weights of two that are equal."""

    def scored(x: Any, twice: bool = False) -> Any:
        with tf.variable_scope("score", reuse=tf.AUTO_REUSE):
            kernel = tf.get_variable("kernel", [4, 4])
            return tf.nn.softmax(2 * tf.tanh(3 * (x @ kernel))) if not twice else x @ kernel

    x = tf.placeholder(tf.float32, [None, 4], "h")
    outputs = [scored(x), scored(x + 1), scored(x, True)]
    session.run(tf.global_variables_initializer())
    model = to_torch(session, [x], outputs)
    assert classes_of(model) == {}
    assert model.comparison.largest < 1e-6


# ---- what is no repetition


def stack(body: Callable[[Any, int], Any]) -> Any:
    hidden = tf.placeholder(tf.float32, [5, 8], "h")
    for number in range(3):
        with tf.variable_scope(f"layer_{number}", reuse=tf.AUTO_REUSE):
            hidden = body(hidden, number)
    return hidden


def dense(x: Any, name: str = "dense") -> Any:
    return tf.nn.softmax(2 * tf.tanh(0.5 * tf.layers.dense(x, 8, name=name)))


def constants(x: Any, number: int) -> Any:
    return dense(x) + number


def operations(x: Any, number: int) -> Any:
    return (tf.tanh, tf.sin, tf.cos)[number](dense(x))


def wiring(x: Any, number: int) -> Any:
    first, second = dense(x, "first"), dense(x, "second")
    return dense((first - second, second - first, first - first)[number], "third")


@pytest.mark.parametrize("body", [constants, operations, wiring], ids=lambda f: f.__name__)
def test_scopes_that_differ_share_no_class(session: Any, body: Any) -> None:
    result = stack(body)
    session.run(tf.global_variables_initializer())
    model = to_torch(session, ["h:0"], [result])
    assert classes_of(model) == {}
    assert model.comparison.largest < 1e-6


def test_weights_from_elsewhere_are_arguments(session: Any) -> None:
    kernel = tf.get_variable("kernel", [8, 8])
    result = stack(lambda x, _: dense(x) @ kernel + tf.cast(tf.shape(x)[0], tf.float32))
    session.run(tf.global_variables_initializer())
    model = to_torch(session, ["h:0"], [result])
    assert classes_of(model) == {"Layer": 3}
    assert model.comparison.largest < 1e-6
    assert "self.kernel)" in model.source
