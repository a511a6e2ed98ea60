"""Statements as functions, and what they reject."""

from __future__ import annotations

import logging

import pytest

import stillflow as tf
from stillflow.autograph.operators import blocks, control_flow
from stillflow.autograph.operators.special_values import Undefined, UndefinedReturnValue

NOTHING = (lambda: ()), (lambda state: None)

pytestmark = pytest.mark.usefixtures("session")


def _for(items, extra_test=None, start=0):
    body = lambda item, total: (total + item,)
    return control_flow.for_stmt(items, extra_test, body, *NOTHING, (start,), ("total",), ())


def test_if_of_a_tensor_is_a_cond(session):
    y = control_flow.if_stmt(tf.constant(True), lambda: 1, lambda: -1, *NOTHING)
    assert session.run(y) == 1
    assert control_flow.if_stmt(False, lambda: 1, lambda: -1, *NOTHING) == -1


def test_branches_do_not_see_each_other_s_state(session):
    state = {"a": tf.constant(1)}

    def change(by):
        def run():
            state["a"] = state["a"] + by
            return state["a"]

        return run

    control_flow.if_stmt(
        tf.constant(False), change(10), change(100), lambda: (state["a"],),
        lambda values: state.update(a=values[0]), (), ("a",),
    )  # fmt: skip
    assert session.run(state["a"]) == 101


@pytest.mark.parametrize(
    "other, error, message",
    [
        (Undefined("y"), ValueError, r"must also be initialized in the else branch: \('y',\)"),
        (UndefinedReturnValue(), ValueError, "A value must also be returned from the else branch"),
        (1.5, TypeError, '"y" has dtype int32 in the TRUE branch, but dtype=float32'),
        ([1], TypeError, '"y" does not have the same nested structure in the TRUE'),
    ],
)
def test_branches_have_to_agree(other, error, message):
    with pytest.raises(error, match=message):
        control_flow.if_stmt(
            tf.constant(True), lambda: (1,), lambda: (other,), *NOTHING, ("y",), ()
        )


@pytest.mark.parametrize(
    "start, step, error, message",
    [
        (Undefined("y"), None, ValueError, r"must be defined before the loop: \('y',\)"),
        (UndefinedReturnValue(), None, ValueError, "return statements are not supported"),
        (1, lambda y: 1.5, TypeError, '"y" has dtype int32 before the loop, but dtype float32'),
        ([1], lambda y: [1, 1], ValueError, r'"y" has shape \(1,\) before the loop'),
    ],
)
def test_iterations_have_to_agree(start, step, error, message):
    start = tf.constant(start) if isinstance(start, list) else start
    with pytest.raises(error, match=message):
        control_flow.while_stmt(
            lambda y: tf.constant(True), lambda y: (tf.constant(step(y)),), *NOTHING, (start,),
            ("y",), (),
        )  # fmt: skip


def test_loops_over_everything(session):
    limit = tf.placeholder_with_default(4, [])
    for items in (tf.constant([1, 2, 3]), tf.range(1, limit), tf.range(3, limit - limit, -1)):
        assert session.run(_for(items)) == (6,)
        assert session.run(_for(items, lambda total: total < 3))[0] in (3, 3)
    dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3])
    assert session.run(_for(dataset, start=tf.constant(0))) == (6,)
    assert session.run(_for(dataset, lambda total: total < 3, tf.constant(0))) == (3,)
    assert _for([1, 2, 3]) == (6,)
    assert _for([1, 2, 3], lambda total: total < 3) == (3,)


def test_what_knows_how_to_be_walked_walks_itself():
    class Items:
        def _autograph_for_loop(self, extra_test, body, init_vars):
            return body(7, *init_vars)

    assert _for(Items()) == (7,)


def test_a_test_is_asked_once_for_each_iteration():
    asked = []
    test = lambda i: asked.append(i) or i < 2
    assert control_flow.while_stmt(test, lambda i: (i + 1,), *NOTHING, (0,)) == (2,)
    assert asked == [0, 1, 2]


def test_a_test_that_is_tried_leaves_no_operations():
    before = len(tf.get_default_graph().get_operations())
    blocks.while_(lambda: bool(tf.constant(1).shape.ndims), None, *NOTHING, (), ())
    assert len(tf.get_default_graph().get_operations()) == before


def test_long_loops_that_make_operations_are_told(monkeypatch, caplog):
    monkeypatch.setattr(control_flow, "INEFFICIENT_UNROLL_MIN_ITERATIONS", 5)
    with caplog.at_level(logging.WARNING, "tensorflow"):
        control_flow.while_stmt(
            lambda i, x: i < 20, lambda i, x: (i + 1, tf.constant(i)), *NOTHING, (0, 0)
        )
    (record,) = caplog.records
    assert "large number of iterations" in record.getMessage()


def test_loops_of_python_have_a_limit(monkeypatch):
    monkeypatch.setattr(control_flow, "PYTHON_MAX_ITERATIONS", 10)
    with pytest.raises(ValueError, match="iteration limit exceeded"):
        control_flow.while_stmt(lambda i: True, lambda i: (i + 1,), *NOTHING, (0,))
