"""Operations that global_jit_level or a jit scope want compiled."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.runtime.passes import jit_clusters as joined

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

EVERYTHING = tf.ConfigProto()
EVERYTHING.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
VALUES = np.linspace(-1, 1, 12).reshape(3, 4).astype("f")


@pytest.fixture
def notices(monkeypatch):
    """Return the messages; each reason is new."""
    found = []
    monkeypatch.setattr(joined.logging, "warning", found.append)
    joined._notice.cache_clear()
    yield found
    joined._notice.cache_clear()


def compile_at_once(monkeypatch):
    monkeypatch.setattr(joined, "_SECONDS", 0.0)
    monkeypatch.setattr(joined, "_SECONDS_PER_STEP", 0.0)


@pytest.fixture
def clusters(monkeypatch):
    """Return the number of runs of each function that was to be compiled."""
    monkeypatch.setattr(joined, "_missing", lambda: "")
    compile_at_once(monkeypatch)
    counts = []

    def compile(function):
        counts.append(0)
        number = len(counts) - 1

        def run(*values):
            counts[number] += 1
            return function(*values)

        return run

    monkeypatch.setattr(torch, "compile", compile)
    return counts


def perceptron():
    """Return a loss, and what trains it."""
    x = tf.placeholder(tf.float32, [3, 4], name="x")
    w = tf.get_variable("w", initializer=np.ones((4, 2), "f"))
    loss = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, w))))
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def losses(config=None):
    with tf.Graph().as_default():
        x, loss, train = perceptron()
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train], {x: VALUES})[0] for _ in range(3)]


def test_a_step_is_compiled_as_one(clusters):
    assert losses(EVERYTHING) == losses()
    assert clusters == [3]


def test_steps_are_compiled_once_they_have_taken_as_long_as_that_takes(clusters, monkeypatch):
    expected = losses()
    monkeypatch.setattr(joined, "_SECONDS_PER_STEP", 1e9)
    assert losses(EVERYTHING) == expected
    assert not clusters
    monkeypatch.setattr(joined, "_SECONDS_PER_STEP", 1e-12)
    assert losses(EVERYTHING) == expected
    assert clusters == [2]  # the first of three runs took longer


def test_nothing_is_compiled_that_nobody_wants_compiled(clusters):
    losses()
    assert not clusters


def test_a_scope_is_compiled(clusters):
    x = tf.placeholder(tf.float32, [3, 4])
    with tf.contrib.compiler.jit.experimental_jit_scope():
        inside = tf.exp(tf.negative(x))
    outside = tf.sqrt(inside + 1.0)
    with tf.Session() as session:
        values = session.run([inside, outside], {x: VALUES})
    np.testing.assert_allclose(values[1], np.sqrt(np.exp(-VALUES) + 1), rtol=1e-6)
    assert clusters == [1]


def test_what_has_no_known_shape_is_not_compiled(clusters):
    x = tf.placeholder(tf.float32, [4])
    found = tf.boolean_mask(x, x > 0)
    with tf.Session(config=EVERYTHING) as session:
        session.run(tf.square(found) + 1.0, {x: VALUES[0]})
        assert session.run(tf.square(found) + 1.0, {x: VALUES[2]}).shape == (4,)
    assert all(count <= 1 for count in clusters)


def test_where_compiling_fails_the_steps_run_as_they_are(clusters, notices, monkeypatch):
    attempts = []

    def compile(function):
        def run(*values):
            attempts.append(1)
            raise RuntimeError("no Python.h\nmore about it")

        return run

    expected = losses()
    compile_at_once(monkeypatch)
    monkeypatch.setattr(torch, "compile", compile)
    assert losses(EVERYTHING) == losses(EVERYTHING) == expected
    assert notices == ["Operations that are to be compiled run as they are: no Python.h"]
    assert len(attempts) == 2  # one for each session


def test_without_a_compiler_it_is_said_once(notices, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    joined._missing.cache_clear()
    try:
        assert losses(EVERYTHING) == losses(EVERYTHING) == losses()
    finally:
        joined._missing.cache_clear()
    (line,) = notices
    assert line.endswith("there is no C++ compiler") and "\n" not in line


def test_an_operation_that_fails_is_named(clusters, notices, cpu):
    x = tf.placeholder(tf.float32, [2, 3])
    rows = tf.placeholder(tf.int32, [1])
    taken = tf.gather(tf.square(x), rows, name="taken")
    with tf.Session(config=EVERYTHING) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="is not in") as e:
                session.run(taken, {x: np.ones((2, 3)), rows: [7]})
            assert e.value.op is taken.op
        assert session.run(taken, {x: np.ones((2, 3)), rows: [1]}).shape == (1, 3)
    assert clusters == [3] and not notices


def test_a_traced_run_shows_each_operation(clusters):
    x, loss, _ = perceptron()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session(config=EVERYTHING) as session:
        session.run(tf.global_variables_initializer())
        session.run(loss, {x: VALUES}, options, metadata)
    names = {node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert {"MatMul", "Tanh", "Square", "Sum"} <= names
    assert not clusters


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_torch_compiles_a_step(notices, monkeypatch):
    compile_at_once(monkeypatch)
    np.testing.assert_allclose(losses(EVERYTHING), losses(), rtol=1e-5)
    assert not notices
