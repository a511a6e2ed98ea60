"""Python functions of tensors with values."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def _run(function, inputs, types, feed=None):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.py_function(function, inputs, types))


def _after(done, x):
    with tf.control_dependencies(done):
        return tf.identity(x)


FUNCTIONS = [
    ("operators", lambda x: x * 2 + 1, [3.0], tf.float32, 7.0),
    ("arrays", lambda x: x.numpy() ** 2, [3.0], tf.float32, 9.0),
    ("Python ifs", lambda x: x if x > 2 else -x, [1.0], tf.float32, -1.0),
    ("Python loops", lambda x: sum(v for v in x), [[3.0, 4.0]], tf.float32, 7.0),
    ("conversions", lambda x: float(x) + int(x), [2.5], tf.float32, 4.5),
    ("indices", lambda x: list(range(10))[x], [3], tf.int32, 3),
    ("lengths", lambda x: len(x) + x.ndim, [[1, 2, 3]], tf.int32, 4),
    ("shapes", lambda x: x.shape.as_list(), [[[1, 2, 3]]], [tf.int32] * 2, [1, 3]),
    ("cond", lambda x: tf.cond(x > 1.0, lambda: x * 2, lambda: x), [3.0], tf.float32, 6.0),
    ("case", lambda x: tf.case([(x > 5, lambda: x)], lambda: -x), [3.0], tf.float32, -3.0),
    (
        "while_loop",
        lambda x: tf.while_loop(lambda i, j: i < 10.0, lambda i, j: (i * 2, j + 1), [x, 0]),
        [3.0],
        [tf.float32, tf.int32],
        [12.0, 2],
    ),
    (
        "counted loops",
        lambda x: tf.while_loop(lambda i: i < 10, lambda i: i * 2, [x], maximum_iterations=1),
        [3.0],
        tf.float32,
        6.0,
    ),
    (
        "assertions that hold",
        lambda x: _after(
            [tf.assert_positive(x), tf.assert_rank(x, 1), tf.Assert(x[0] > 0, [x])], x
        ),
        [[1.0, 2.0]],
        tf.float32,
        [1.0, 2.0],
    ),
    ("modes", lambda x: tf.executing_eagerly(), [1], tf.bool, True),
    ("strings", lambda x: b"a" + x.numpy(), ["hi"], tf.string, b"ahi"),
    ("text", lambda x: f"{x:.1f} {x}", [3.0], tf.string, b"3.0 3.0"),
    ("conversion", lambda x: np.zeros(2), [1.0], tf.float32, [0.0, 0.0]),
    ("None", lambda x: None, [1.0], [], None),
    ("ends of lists", lambda x: (x, x, x), [1.0], [tf.float32] * 2, [1.0, 1.0]),
    ("concat", lambda x, y: tf.concat([x, y], 0), [[1], [2, 3]], tf.int32, [1, 2, 3]),
    ("dynamic shapes", lambda x: tf.boolean_mask(x, x > 1), [[1, 2, 3]], tf.int32, [2, 3]),
]


@pytest.mark.parametrize(
    ("function", "inputs", "types", "expected"),
    [case[1:] for case in FUNCTIONS],
    ids=[case[0] for case in FUNCTIONS],
)
def test_tensors_in_the_function_have_values(function, inputs, types, expected):
    np.testing.assert_equal(_run(function, inputs, types), expected)


def test_variables_made_in_the_function_hold_values():
    def count(x):
        v = tf.get_variable("v", initializer=2.0)
        v.assign_add(x)
        before = v.read_value()
        v.assign_add(x)
        return before, v.read_value()

    assert _run(count, [3.0], [tf.float32] * 2) == [5.0, 8.0]


def test_tensors_show_their_values():
    shown = _run(lambda x: (str(x), repr(x)), [[1.0, 2.0]], [tf.string] * 2)
    assert shown[0] == b"tf.Tensor([1. 2.], shape=(2,), dtype=float32)"
    assert shown[1].endswith(b"shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>")


REFUSED = [
    (lambda x: x[5], "UnknownError", "InvalidArgumentError: slice index 5 of dimension 0 out of"),
    (lambda x: tf.matmul(x, x), "UnknownError", r"InvalidArgumentError: .*\[Op:MatMul\]"),
    (lambda x: tf.placeholder("float"), "UnknownError", "not compatible with eager execution"),
    (lambda x: tf.gradients(x, x), "UnknownError", "tf.gradients is not supported when eager"),
    (lambda x: x.eval(), "UnimplementedError", "eval is not supported when eager execution is"),
    (lambda x: tf.get_variable("v", initializer=1.0), "UnknownError", "return a variable from"),
    (lambda x: 1.5, "InvalidArgumentError", "TypeError"),
    (
        lambda x: tf.Assert(x[0] > 5, [x, "text", [1, 2, 3, 4]]),
        "UnknownError",
        "Summarized data: 3.0\nb'text'\n1, 2, 3, ...",
    ),
    (lambda x: tf.assert_equal(x, x + 1, message="differ"), "UnknownError", "differ"),
    (lambda x: len(x[0]), "InvalidArgumentError", r"TypeError: Scalar tensor has no `len\(\)`"),
]


@pytest.mark.parametrize(("function", "kind", "match"), REFUSED)
def test_what_is_wrong_is_told(function, kind, match):
    with pytest.raises(getattr(tf.errors, kind), match=match):
        _run(function, [[3.0]], tf.int32)


def test_gradients_go_through_the_branch_that_was_taken():
    def log_huber(x, m):
        if tf.abs(x) <= m:
            return x**2
        return m**2 * (1 - 2 * tf.log(m) + tf.log(x**2))

    with tf.Graph().as_default(), tf.Session() as session:
        x, m = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        y = tf.py_function(log_huber, [x, m], tf.float32)
        gradient = tf.gradients(y, x)[0]
        assert session.run([y, gradient], {x: 1.0, m: 2.0}) == [1.0, 2.0]
        far = session.run(gradient, {x: 4.0, m: 2.0})
        np.testing.assert_allclose(far, 2.0)


def test_gradients_of_several_results_and_arguments():
    with tf.Graph().as_default(), tf.Session() as session:
        x, n, y = tf.constant(3.0), tf.constant(1), tf.constant(2.0)
        a, b = tf.py_function(lambda x, n, y: (x * y, x / y), [x, n, y], [tf.float32] * 2)
        found = session.run(tf.gradients(a + 2 * b, [x, y]))
        np.testing.assert_allclose(found, [3.0, 1.5])


def test_each_turn_of_a_loop_has_its_own_gradient():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)

        def square(i, v):
            y = tf.py_function(lambda v: v**2, [v], tf.float32)
            y.set_shape([])
            return i + 1, y

        _, y = tf.while_loop(lambda i, v: i < 3, square, [0, x])
        assert session.run([y, tf.gradients(y, x)[0]]) == [256.0, 1024.0]


def test_the_graph_around_is_as_before():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y = tf.py_function(lambda x: tf.add(x, 1), [1], tf.int32)
        nodes = len(graph.get_operations())
        session.run(y)
        assert len(graph.get_operations()) == nodes
        assert not tf.executing_eagerly()
