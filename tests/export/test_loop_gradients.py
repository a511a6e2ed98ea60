"""Gradients that graphs hold for their loops, as modules of PyTorch: stacks, arrays and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.export import to_torch

Graph = tuple[dict[Any, Any], Any, list[Any]]


def _series(*shape: int) -> tuple[Any, np.ndarray]:
    array = np.random.default_rng(3).normal(size=shape).astype("f")
    return tf.placeholder(tf.float32, (None, *shape[1:])), array


def scan() -> Graph:
    x, array = _series(5, 3)
    w = tf.get_variable("w", [3, 3])
    made = tf.scan(lambda a, b: tf.tanh(tf.matmul(a[None], w)[0] + b), x)
    return {x: array}, tf.reduce_sum(made * made), [x, w]


def branches_in_a_loop() -> Graph:
    x, array = _series(5, 3)
    made = tf.map_fn(lambda row: tf.cond(row[0] > 0, lambda: row * row, lambda: row), x)
    return {x: array}, tf.reduce_sum(made * made), [x]


def loops_in_a_loop() -> Graph:
    x, array = _series(3)

    def outer(i: Any, a: Any) -> Any:
        _, b = tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * a), [0, a])
        return i + 1, b

    _, made = tf.while_loop(lambda i, a: i < 3, outer, [0, x])
    return {x: array}, tf.reduce_sum(made), [x]


def both_directions_of_short_series() -> Graph:
    x, array = _series(2, 6, 3)
    lengths = tf.placeholder(tf.int32, [2])
    cells = [tf.nn.rnn_cell.LSTMCell(4) for _ in range(2)]
    (ahead, back), _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
    given = {x: array, lengths: np.int32([4, 2])}
    return given, tf.reduce_sum(ahead * back), [x, *tf.trainable_variables()]


def lists_of_functional_loops() -> Graph:
    tf.enable_control_flow_v2()
    try:
        x, array = _series(2, 4, 3)
        made, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32)
        loss = tf.reduce_sum(made * made)
        return {x: array}, loss, [x, *tf.trainable_variables()]
    finally:
        tf.disable_control_flow_v2()


GRAPHS: list[Callable[[], Graph]] = [
    scan, branches_in_a_loop, loops_in_a_loop, both_directions_of_short_series,
    lists_of_functional_loops,
]  # fmt: skip


@pytest.mark.parametrize("build", GRAPHS, ids=lambda build: build.__name__)
def test_gradients_of_loops_go_out(build: Callable[[], Graph]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        given, loss, sources = build()
        gradients = tf.gradients(loss, sources)
        session.run(tf.global_variables_initializer())
        samples = {tensor.name: array for tensor, array in given.items()}
        model = to_torch(session, list(given), [loss, *gradients], samples=samples)
    assert model.comparison.largest < 1e-5
    assert all(np.any(value) for value in model.comparison.outputs.values())


@pytest.mark.parametrize("wanted", ["loss", "gradient"])
def test_values_are_pushed_where_they_are_popped(wanted: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        given, loss, sources = scan()
        (gradient,) = tf.gradients(loss, sources[:1])
        session.run(tf.global_variables_initializer())
        samples = {tensor.name: array for tensor, array in given.items()}
        output = loss if wanted == "loss" else gradient
        model = to_torch(session, list(given), [output], samples=samples)
    assert ("_push(" in model.source) == (wanted == "gradient")
