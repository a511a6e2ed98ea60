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


@pytest.mark.parametrize(
    "build",
    [perceptron, convolutions, recurrent, word_vectors, attention],
    ids=lambda f: f.__name__,
)
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
