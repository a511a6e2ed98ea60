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
