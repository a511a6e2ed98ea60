"""Branches and loops as functions: execution, and gradients of imported ones."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.tensor_list.values import TensorList


@pytest.fixture(autouse=True)
def _functions():
    tf.enable_control_flow_v2()
    with tf.Graph().as_default():
        yield
    tf.disable_control_flow_v2()


def _power(x, n):
    return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x), [0, x])[1]


def _branch(x):
    return tf.cond(x > 1.0, lambda: x * x * x, lambda: tf.exp(x))


def _chosen(x):
    return tf.switch_case(tf.cast(x, tf.int32), [lambda: x * 2.0, lambda: x * x, lambda: -x])


@pytest.mark.parametrize(
    ("build", "given", "slope"),
    [(lambda x: _power(x, 3), 2.0, 32.0), (_branch, 2.0, 12.0), (_branch, 0.0, 1.0),
     (_chosen, 1.5, 3.0), (_chosen, 7.0, -1.0)],
)  # fmt: skip
def test_what_was_imported_is_differentiated(build, given, slope):
    tf.identity(build(tf.placeholder(tf.float32, [], name="x")), name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.disable_control_flow_v2()
        x, y = tf.import_graph_def(graph_def, return_elements=["x:0", "y:0"], name="")
        gradient = tf.gradients(y, x)[0]
        np.testing.assert_allclose(session.run(gradient, {x: given}), slope, rtol=1e-5)


def test_lists_are_kept_only_for_gradients_that_are_fetched(monkeypatch):
    pushes = []
    pushed = TensorList.pushed
    monkeypatch.setattr(
        TensorList, "pushed", lambda self, value: pushes.append(1) or pushed(self, value)
    )
    x = tf.constant(1.5)
    y = _power(x, 4)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        session.run(y)
        assert not pushes
        session.run(gradient)
        assert pushes


def test_effects_that_nothing_asks_for_do_not_happen_outside_of_functions():
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    def branch():
        v.assign_add(1.0)
        return tf.constant(5.0)

    outside = tf.cond(tf.constant(True), branch, lambda: 0.0)
    inside = tf.function(lambda: tf.cond(tf.constant(True), branch, lambda: 0.0), autograph=False)()
    wrapped = tf.wrap_function(branch, [])()
    with tf.Session() as session:
        session.run(v.initializer)
        found = []
        for fetch in (outside, inside, wrapped):
            session.run(fetch)
            found.append(float(session.run(v)))
    assert found == [0.0, 1.0, 1.0]


def test_a_reference_is_read_only_in_the_branch_that_takes_it():
    v = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32)  # it is never initialized
    taken = tf.placeholder(tf.bool, [])
    y = tf.cond(taken, lambda: v + 1.0, lambda: tf.constant(2.0))
    with tf.Session() as session:
        assert session.run(y, {taken: False}) == 2.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(y, {taken: True})


def test_a_tensor_of_a_function_that_is_left_cannot_be_used():
    kept = []
    tf.cond(tf.constant(True), lambda: kept.append(tf.constant(1.0)) or kept[0], lambda: 0.0)

    @tf.function(autograph=False)
    def function():
        inner = []
        tf.cond(tf.constant(True), lambda: inner.append(tf.constant(1.0)) or inner[0], lambda: 0.0)
        return inner[0] + 1.0

    with pytest.raises(ValueError, match="cannot be accessed here: it is defined in another"):
        function()


def test_the_switch_says_what_graphs_get():
    assert tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    assert not tf.control_flow_v2_enabled()
    assert tf.cond(tf.constant(True), lambda: 1.0, lambda: 2.0).op.type == "Merge"
    seen = []
    tf.function(lambda: seen.append(tf.control_flow_v2_enabled()), autograph=False)()
    assert seen == [True]


def test_what_gives_a_fed_argument_does_not_run():
    calls = []
    x = tf.py_func(lambda: calls.append(1) or np.float32(1.0), [], tf.float32)
    x.set_shape([])
    y = tf.function(lambda a: a * 2.0, autograph=False)(x)
    with tf.Session() as session:
        assert session.run(y, {x: 4.0}) == 8.0
        assert not calls
        assert session.run(y) == 2.0


def test_shapes_made_outside_of_a_function_are_known_in_it():
    sizes, seen = tf.constant([3, 4]), []

    def body(i, x):
        wide = tf.concat([[5], sizes], 0)
        seen.append([tf.zeros(wide).shape.as_list(), tf.reshape(x, wide).shape.as_list(),
                     tf.random_uniform(wide).shape.as_list()])  # fmt: skip
        return i + 1, x

    tf.while_loop(lambda i, x: i < 3, body, [0, tf.zeros([60])])
    assert seen == [[[5, 3, 4]] * 3]
