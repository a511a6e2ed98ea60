"""Small programs whose plans are recorded in `plans/`, a file each.

python -m tests.runtime.explain.programs            # write them again; check the differences
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stillflow as tf

FOLDER = Path(__file__).parent / "plans"


def _classified(logits: Any) -> Any:
    labels = tf.placeholder(tf.int64, [None], "labels")
    return tf.losses.sparse_softmax_cross_entropy(labels, logits), {labels: np.zeros(8, np.int64)}


def softmax_regression() -> Any:
    x = tf.placeholder(tf.float32, [None, 20], "x")
    w, b = tf.Variable(tf.zeros([20, 4]), name="w"), tf.Variable(tf.zeros([4]), name="b")
    loss, fed = _classified(tf.matmul(x, w) + b)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return [loss, train], {x: np.zeros((8, 20), np.float32), **fed}


def perceptron_with_dropout() -> Any:
    x = tf.placeholder(tf.float32, [None, 20], "x")
    training = tf.placeholder(tf.bool, [], "training")
    hidden = tf.keras.layers.Dense(16, "relu", name="hidden")(x)
    hidden = tf.cond(training, lambda: tf.nn.dropout(hidden, rate=0.5), lambda: hidden)
    loss, fed = _classified(tf.keras.layers.Dense(4, name="out")(hidden))
    train = tf.train.AdamOptimizer().minimize(loss)
    return [loss, train], {x: np.zeros((8, 20), np.float32), training: True, **fed}


def residual_block() -> Any:
    x = tf.placeholder(tf.float32, [None, 8, 8, 4], "x")

    def normalized(y: Any, name: str) -> Any:
        y = tf.keras.layers.Conv2D(4, 3, padding="same", use_bias=False, name=name)(y)
        scale, offset = tf.Variable(tf.ones([4])), tf.Variable(tf.zeros([4]))
        return tf.nn.fused_batch_norm(y, scale, offset)[0]

    y = tf.nn.relu(normalized(x, "first"))
    y = tf.nn.relu(normalized(y, "second") + x)
    loss, fed = _classified(tf.reduce_mean(y, [1, 2]))
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, train], {x: np.zeros((8, 8, 8, 4), np.float32), **fed}


def embedding_lookup() -> Any:
    ids = tf.placeholder(tf.int32, [None], "ids")
    table = tf.Variable(tf.zeros([100, 4]), name="table")
    loss, fed = _classified(tf.nn.embedding_lookup(table, ids))
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    return [loss, train], {ids: np.zeros(8, np.int32), **fed}


def recurrent_network() -> Any:
    x = tf.placeholder(tf.float32, [None, 5, 3], "x")
    lengths = tf.placeholder(tf.int32, [None], "lengths")
    cell = tf.nn.rnn_cell.GRUCell(4, name="cell")
    outputs, _ = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    fed = {x: np.zeros((8, 5, 3), np.float32), lengths: np.full(8, 4, np.int32)}
    return outputs, fed


def batches_of_a_dataset() -> Any:
    batches = tf.data.Dataset.range(10).batch(4)
    x = tf.data.make_one_shot_iterator(batches).get_next()
    return tf.reduce_sum(tf.cast(x, tf.float32) * 2.0), {}


PROGRAMS: dict[str, Callable[[], Any]] = {
    build.__name__: build
    for build in (
        softmax_regression, perceptron_with_dropout, residual_block, embedding_lookup,
        recurrent_network, batches_of_a_dataset,
    )
}  # fmt: skip


def explained(name: str) -> str:
    """Return the plan of a program as text."""
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feeds = PROGRAMS[name]()
        lines = session.explain(fetches, feeds).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    for program in PROGRAMS:
        (FOLDER / f"{program}.txt").write_text(explained(program), encoding="utf-8")
