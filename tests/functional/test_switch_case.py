"""Branches chosen by a number."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def _functions(x):
    return [lambda: x * 10.0, lambda: x**2.0, lambda: tf.reduce_sum(x) + tf.zeros_like(x)]


@pytest.mark.parametrize(("index", "expected"), [(0, 20.0), (1, 4.0), (2, 4.0), (-1, 4.0)])
@pytest.mark.parametrize("form", [list, lambda f: dict(enumerate(f)), lambda f: [*enumerate(f)]])
def test_the_function_of_the_number_is_called(index, expected, form):
    with tf.Graph().as_default(), tf.Session() as session:
        x, chosen = tf.constant([2.0, 2.0]), tf.placeholder(tf.int32, [])
        y = tf.switch_case(chosen, form(_functions(x)))
        assert y.shape.as_list() == [2]
        assert y.op.inputs[0].op.type == "Case"
        np.testing.assert_equal(session.run(y, {chosen: index}), [expected] * 2)


@pytest.mark.parametrize(
    ("index", "expected"), [(0, [10.0, 0.0]), (1, [4.0, 0.0]), (7, [0.0, 3.0])]
)
def test_the_branch_taken_is_differentiated(index, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        x, z = tf.constant(2.0), tf.constant(5.0)
        branches = [lambda: {"y": x * 10.0}, lambda: {"y": x**2.0}]
        y = tf.switch_case(tf.constant(index), branches, lambda: {"y": z * 3.0})["y"]
        assert session.run(tf.gradients(y, [x, z])) == expected


def test_variables_are_differentiated_in_branches():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=3.0, use_resource=True)
        y = tf.switch_case(tf.constant(1), [lambda: v * 1.0, lambda: v * v])
        session.run(v.initializer)
        assert session.run([y, *tf.gradients(y, [v])]) == [9.0, 6.0]


REFUSED = [
    (1, [lambda: 1], TypeError, "branch_index must a Tensor"),
    (0.5, [lambda: 1], TypeError, "branch_index must an integer Tensor"),
    ("index", [], ValueError, "at least one item in branch_fns"),
    ("index", {1}, TypeError, "branch_fns must be a list, tuple, or dict"),
    ("index", [1, 2], TypeError, "Each entry in branch_fns must be a 2-tuple"),
    ("index", [(1.0, lambda: 1)], TypeError, "key must be a Python `int`"),
    ("index", [(0, 1)], TypeError, "fn for key 0 must be callable."),
    ("index", [(0, lambda: 1), (2, lambda: 1)], ValueError, r"range of \[0 to 2\) .* \{0,2\}"),
    ("index", [(0, lambda: 1), (0, lambda: 1)], ValueError, r"but found \{0,0\}"),
]


@pytest.mark.parametrize(("index", "branches", "error", "match"), REFUSED)
def test_what_is_no_choice_is_refused(index, branches, error, match):
    with tf.Graph().as_default():
        given = {"index": tf.constant(0), 0.5: tf.constant(0.5)}.get(index, index)
        with pytest.raises(error, match=match):
            tf.switch_case(given, branches)
