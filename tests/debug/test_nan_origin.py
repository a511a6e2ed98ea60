"""`--find-nan`: names the operation, and the line, of the first NaN."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

HEAD = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None])
w = tf.Variable([1., 2.])
"""


def run(tmp_path, body):
    program = tmp_path / "program.py"
    program.write_text(HEAD + textwrap.dedent(body))
    return subprocess.run(
        [sys.executable, "-m", "stillflow", "--find-nan", str(program)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_line_that_made_it_is_named(tmp_path) -> None:
    done = run(tmp_path, """
        root = tf.sqrt(x - w, name="root")
        loss = tf.reduce_mean(root * 2., name="loss")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            print("fine", sess.run(loss, {x: [1., 2.]}))
            sess.run(loss, {x: [0., 3.]})
    """)  # fmt: skip
    assert done.returncode == 1
    assert "fine 0.0" in done.stdout
    assert "loss:0 is not finite." in done.stderr
    assert "The first NaN came from operation 'root' (Sqrt), made here:" in done.stderr
    assert 'root = tf.sqrt(x - w, name="root")' in done.stderr
    assert "sub:0  float32 (2,): from -1 to 1" in done.stderr
    assert "root:0  float32 (2,): 1 NaN, from 1 to 1" in done.stderr
    assert "From there it went: root -> mul -> loss" in done.stderr


def test_a_gradient_that_spoils_a_variable_is_found(tmp_path) -> None:
    done = run(tmp_path, """
        with tf.name_scope("model"):
            loss = tf.reduce_sum(tf.sqrt(x * 0. * w))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train, {x: [1., 2.]})
    """)  # fmt: skip
    assert done.returncode == 1
    assert "The first NaN came from operation 'gradients/model/" in done.stderr
    assert "which was originally created as op 'model/" in done.stderr
    assert "The first infinity came from operation 'gradients/model/Sqrt_grad" in done.stderr


def test_infinities_that_nobody_takes_are_let_alone(tmp_path) -> None:
    done = run(tmp_path, """
        mask = tf.constant([0., -np.inf])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            print(sess.run(tf.nn.softmax(w + mask)))
    """)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[1. 0.]" in done.stdout


@pytest.mark.parametrize("kind", ["resource", "reference"])
def test_training_goes_on_while_all_is_finite(tmp_path, kind) -> None:
    done = run(tmp_path, f"""
        v = tf.get_variable("v", [2], use_resource={kind == "resource"})
        train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(v - w)))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(train)
        print("done")
    """)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout


def test_the_iteration_of_a_loop_is_named(tmp_path) -> None:
    """A NaN that goes round in a loop came from the iteration that made it, not from the loop."""
    done = run(tmp_path, """
        class Cell(tf.nn.rnn_cell.BasicRNNCell):
            def call(self, inputs, state):
                out, new = super(Cell, self).call(inputs, state)
                new += 0. * tf.log(inputs[:, :1], name="log")
                return new, new

        rows = tf.placeholder(tf.float32, [2, 5, 3])
        _, state = tf.nn.dynamic_rnn(Cell(3, name="cell"), rows, dtype=tf.float32)
        loss = tf.reduce_mean(state, name="loss")
        fed = np.ones([2, 5, 3])
        fed[0, 3, 0] = -1
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(loss, {rows: np.ones([2, 5, 3])})
            sess.run(loss, {rows: fed})
    """)  # fmt: skip
    assert done.returncode == 1
    assert "The first NaN came from operation 'rnn/while/cell/log' (Log)" in done.stderr
    assert 'new += 0. * tf.log(inputs[:, :1], name="log")' in done.stderr
    assert "It was in iteration 3 of the loop 'rnn/while/while_context'." in done.stderr
    assert "strided_slice:0  float32 (2, 1): from -1 to 1" in done.stderr
    assert "rnn/while/cell/log:0  float32 (2, 1): 1 NaN, from 0 to 0" in done.stderr
    assert "rnn/while/Exit_3 -> loss" in done.stderr


@pytest.mark.parametrize("body", [
    """
        def model_fn(features, labels, mode):
            v = tf.get_variable("v", [3, 1], initializer=tf.constant_initializer(0.1))
            norm = tf.sqrt(tf.reduce_sum(v) - 0.5, name="bad")
            loss = tf.reduce_mean(tf.square(tf.matmul(features["x"], v) - labels)) / norm
            train = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

        def input_fn():
            ones = {"x": np.ones([8, 3], np.float32)}, np.ones([8, 1], np.float32)
            return tf.data.Dataset.from_tensor_slices(ones).repeat().batch(4)

        tf.estimator.Estimator(model_fn).train(input_fn, steps=3)
    """,
    """
        inputs = tf.keras.Input((3,))
        hidden = tf.keras.layers.Lambda(lambda t: tf.sqrt(t - 10., name="bad"))(inputs)
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))
        model.compile("sgd", "mse")
        model.fit(np.ones([8, 3], np.float32), np.ones([8, 1], np.float32), verbose=0)
    """,
], ids=["estimator", "keras"])  # fmt: skip
def test_what_trains_by_itself_is_searched_too(tmp_path, body) -> None:
    done = run(tmp_path, body)
    assert done.returncode == 1
    assert "bad' (Sqrt), made here:" in done.stderr
    assert 'name="bad")' in done.stderr
