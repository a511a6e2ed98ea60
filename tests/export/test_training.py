"""Exported models trained in PyTorch and in Stillflow: from the same weights, the same losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.export import to_torch

pytestmark = pytest.mark.filterwarnings("ignore")

STEPS, RATE = 20, 0.05
Graph = tuple[list[Any], Any, dict[str, np.ndarray]]


def perceptron() -> Graph:
    x, y = tf.placeholder(tf.float32, [None, 6], "x"), tf.placeholder(tf.int64, [None], "y")
    hidden = tf.layers.dense(x, 9, tf.nn.relu)
    logits = tf.layers.dense(hidden, 3)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss"
    )
    rng = np.random.default_rng(0)
    return [x, y], loss, {"x": rng.normal(size=(8, 6)), "y": rng.integers(0, 3, 8)}


def convolutions() -> Graph:
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 2], "x"), tf.placeholder(tf.float32, [None, 4])
    image = tf.layers.conv2d(x, 5, 3, padding="same", use_bias=False)
    image = tf.nn.relu(tf.layers.batch_normalization(image, training=True))
    image = tf.layers.average_pooling2d(tf.layers.max_pooling2d(image, 2, 2), 2, 2, "same")
    logits = tf.layers.dense(tf.layers.flatten(image), 4)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    rng = np.random.default_rng(1)
    labels = np.eye(4)[rng.integers(0, 4, 6)]
    return [x, y], loss, {x.op.name: rng.normal(size=(6, 8, 8, 2)), y.op.name: labels}


def recurrent() -> Graph:
    x, y = tf.placeholder(tf.float32, [None, 7, 3], "x"), tf.placeholder(tf.float32, [None, 2], "y")
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)
    found = tf.layers.dense(tf.concat([outputs[:, -1], state.c], 1), 2)
    rng = np.random.default_rng(2)
    sample = {"x": rng.normal(size=(5, 7, 3)), "y": rng.normal(size=(5, 2))}
    return [x, y], tf.losses.mean_squared_error(y, found), sample


def word_vectors() -> Graph:
    x, y = tf.placeholder(tf.int32, [None], "x"), tf.placeholder(tf.int32, [None], "y")
    table = tf.get_variable("table", [11, 4])
    weights = tf.get_variable("weights", [11, 4])
    biases = tf.get_variable("biases", [11], initializer=tf.zeros_initializer())
    logits = tf.matmul(tf.nn.embedding_lookup(table, x), weights, transpose_b=True) + biases
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    rng = np.random.default_rng(3)
    return (
        [x, y],
        tf.reduce_mean(losses),
        {"x": rng.integers(0, 11, 9), "y": rng.integers(0, 11, 9)},
    )


def attention() -> Graph:
    x, y = (
        tf.placeholder(tf.float32, [None, 5, 6], "x"),
        tf.placeholder(tf.float32, [None, 5, 6], "y"),
    )
    query, key, value = (tf.layers.dense(x, 6, use_bias=False, name=name) for name in "qkv")
    scores = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 6**0.5)
    mixed = tf.contrib.layers.layer_norm(x + tf.matmul(scores, value), begin_norm_axis=-1)
    found = tf.layers.dense(tf.layers.dense(mixed, 12, tf.nn.elu), 6)
    rng = np.random.default_rng(4)
    sample = {"x": rng.normal(size=(3, 5, 6)), "y": rng.normal(size=(3, 5, 6))}
    return [x, y], tf.reduce_mean(tf.square(found - y)), sample


def translation() -> Graph:
    x, y = tf.placeholder(tf.int32, [None, 5], "x"), tf.placeholder(tf.int32, [None, 4], "y")
    table = tf.get_variable("table", [9, 6])
    encoded, state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(6), tf.nn.embedding_lookup(table, x), dtype=tf.float32
    )
    mechanism = tf.contrib.seq2seq.BahdanauAttention(6, encoded)
    cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(6), mechanism)
    start = cell.zero_state(tf.shape(x)[0], tf.float32).clone(cell_state=state)
    given = tf.concat([tf.ones_like(y[:, :1]), y[:, :-1]], 1)
    lengths = tf.fill([tf.shape(y)[0]], 4)
    helper = tf.contrib.seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, given), lengths)
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, start, tf.layers.Dense(9))
    outputs, *_ = tf.contrib.seq2seq.dynamic_decode(decoder)
    loss = tf.contrib.seq2seq.sequence_loss(
        outputs.rnn_output, y, tf.ones_like(y, tf.float32), name="loss"
    )
    rng = np.random.default_rng(5)
    return [x, y], loss, {"x": rng.integers(2, 9, (3, 5)), "y": rng.integers(2, 9, (3, 4))}


def transformer() -> Graph:
    x, y = tf.placeholder(tf.int32, [None, 6], "x"), tf.placeholder(tf.int32, [None, 6], "y")
    hidden = tf.nn.embedding_lookup(tf.get_variable("words", [12, 8]), x)
    hidden += tf.get_variable("places", [6, 8])
    mask = tf.linalg.band_part(tf.ones([6, 6]), -1, 0)
    for number in range(2):
        with tf.variable_scope(f"layer_{number}"):
            heads = [
                tf.transpose(tf.reshape(tf.layers.dense(hidden, 8, name=name), [-1, 6, 2, 4]),
                             [0, 2, 1, 3]) for name in ("query", "key", "value")
            ]  # fmt: skip
            scores = tf.matmul(heads[0], heads[1], transpose_b=True) / 2 - 1e9 * (1 - mask)
            mixed = tf.matmul(tf.nn.softmax(scores), heads[2])
            mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, 6, 8])
            hidden = tf.contrib.layers.layer_norm(
                hidden + tf.layers.dense(mixed, 8, name="out"), begin_norm_axis=-1
            )
            inner = tf.layers.dense(hidden, 16, name="inner")
            inner *= 0.5 * (1 + tf.erf(inner / 2**0.5))
            hidden = tf.contrib.layers.layer_norm(
                hidden + tf.layers.dense(inner, 8, name="outer"), begin_norm_axis=-1
            )
    logits = tf.layers.dense(hidden, 12, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    rng = np.random.default_rng(6)
    text = rng.integers(0, 12, (4, 7))
    return [x, y], tf.reduce_mean(losses), {"x": text[:, :-1], "y": text[:, 1:]}


def residual() -> Graph:
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 3], "x"), tf.placeholder(tf.int32, [None], "y")
    image = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=False)
    for channels, stride in ((4, 1), (8, 2)):
        inner = tf.nn.relu(tf.layers.batch_normalization(image, training=True))
        short = tf.layers.conv2d(inner, channels, 1, stride, use_bias=False)
        inner = tf.layers.conv2d(inner, channels, 3, stride, "same", use_bias=False)
        inner = tf.nn.relu(tf.layers.batch_normalization(inner, training=True))
        image = short + tf.layers.conv2d(inner, channels, 3, padding="same", use_bias=False)
    logits = tf.layers.dense(tf.reduce_mean(image, [1, 2]), 3)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    rng = np.random.default_rng(7)
    sample = {"x": rng.normal(size=(6, 8, 8, 3)), "y": rng.integers(0, 3, 6)}
    return [x, y], tf.reduce_mean(losses), sample


def auto_encoder() -> Graph:
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], "x")
    code = tf.layers.conv2d(x, 4, 3, 2, "same", activation=tf.nn.leaky_relu)
    code = tf.layers.dense(tf.layers.flatten(code), 5, tf.nn.tanh)
    image = tf.reshape(tf.layers.dense(code, 64, tf.nn.relu), [-1, 4, 4, 4])
    found = tf.layers.conv2d_transpose(image, 1, 3, 2, "same")
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=found))
    return [x], loss, {"x": np.random.default_rng(8).uniform(size=(5, 8, 8, 1))}


def sentences() -> Graph:
    x, y = tf.placeholder(tf.int32, [None, 9], "x"), tf.placeholder(tf.float32, [None, 2], "y")
    words = tf.nn.embedding_lookup(tf.get_variable("words", [15, 5]), x)
    parts = [tf.reduce_max(tf.layers.conv1d(words, 4, size, activation=tf.nn.relu), 1)
             for size in (2, 3)]  # fmt: skip
    forward, backward = (tf.nn.rnn_cell.BasicLSTMCell(3) for _ in "ab")
    _, states = tf.nn.bidirectional_dynamic_rnn(forward, backward, words, dtype=tf.float32)
    logits = tf.layers.dense(tf.concat([*parts, states[0].h, states[1].h], 1), 2)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    rng = np.random.default_rng(9)
    labels = np.eye(2)[rng.integers(0, 2, 5)]
    return [x, y], loss, {"x": rng.integers(0, 15, (5, 9)), "y": labels}


BUILDERS = (
    perceptron, convolutions, recurrent, word_vectors, attention, translation, transformer,
    residual, auto_encoder, sentences,
)  # fmt: skip


@pytest.mark.parametrize("build", BUILDERS, ids=lambda f: f.__name__)
def test_losses_are_the_same(build: Callable[[], Graph]) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        inputs, loss, sample = build()
        step = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        feeds = {
            each: np.asarray(sample[each.op.name], each.dtype.as_numpy_dtype) for each in inputs
        }
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            model = to_torch(session, inputs, [loss], samples=sample)
            expected = [session.run([loss, step], feeds)[0] for _ in range(STEPS)]
    batch = [torch.from_numpy(array) for array in feeds.values()]
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        output = model(*batch)
        output.backward()
        optimizer.step()
        found.append(output.item())
    assert expected[-1] < expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_adversaries_take_turns() -> None:
    """A generator and a discriminator have a loss each, for parameters of their own."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        z, x = tf.placeholder(tf.float32, [None, 3], "z"), tf.placeholder(tf.float32, [None, 4])
        with tf.variable_scope("maker"):
            made = tf.layers.dense(tf.layers.dense(z, 6, tf.nn.relu), 4)

        def judged(value: Any) -> Any:
            with tf.variable_scope("judge", reuse=tf.AUTO_REUSE):
                return tf.layers.dense(tf.layers.dense(value, 5, tf.nn.tanh, name="a"), 1, name="b")

        real, fake = judged(x), judged(made)
        losses = [tf.reduce_mean(tf.nn.softplus(-real) + tf.nn.softplus(fake)),
                  tf.reduce_mean(tf.nn.softplus(-fake))]  # fmt: skip
        scopes = ("judge", "maker")
        steps = [
            tf.train.GradientDescentOptimizer(RATE).minimize(
                loss, var_list=tf.trainable_variables(scope)
            )
            for loss, scope in zip(losses, scopes, strict=True)
        ]
        rng = np.random.default_rng(0)
        feeds = {z: rng.normal(size=(6, 3)).astype("f"), x: rng.normal(size=(6, 4)).astype("f")}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            model = to_torch(session, [z, x], losses)
            expected = [
                [
                    session.run([loss, step], feeds)[0]
                    for loss, step in zip(losses, steps, strict=True)
                ]
                for _ in range(STEPS)
            ]
    batch = [torch.from_numpy(array) for array in feeds.values()]
    found = []
    for _ in range(STEPS):
        found.append([])
        for place, scope in enumerate(scopes):
            loss = model(*batch)[place]
            parameters = list(getattr(model, scope).parameters())
            slopes = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, slope in zip(parameters, slopes, strict=True):
                    parameter -= RATE * slope
            found[-1].append(loss.item())
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
