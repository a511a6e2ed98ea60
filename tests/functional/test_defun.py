"""Functions of the library made by `Defun`, and calls that are not taken apart."""

from __future__ import annotations

import pytest
from tests.running import run

import stillflow as tf
from stillflow import errors
from stillflow.functional import functional_ops
from stillflow.functional.definitions import from_library
from stillflow.functional.defun import Defun

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def test_a_function_may_call_itself(graph):
    @Defun(tf.int32, func_name="One")
    def one(n):
        return tf.ones_like(n)

    @Defun(tf.int32, func_name="Factorial")
    def factorial(n):
        return functional_ops.If(n > 1, [n], step, one)[0]

    @Defun(tf.int32, func_name="Step")
    def step(n):
        call = tf.raw_ops.PartitionedCall(args=[n - 1], Tout=[tf.int32], f="Factorial")
        return n * call[0]

    n = tf.placeholder(tf.int32, [])
    assert run(factorial(n), {n: 5}) == 120


def test_functions_read_from_a_message_can_be_called(graph):
    @Defun(tf.float32, func_name="Twice")
    def twice(x):
        return x * 2.0

    twice(tf.constant(1.0))
    (found,) = from_library(graph.as_graph_def().library)
    with tf.Graph().as_default():
        assert run(found(tf.constant(4.0))) == 8.0
        assert found.declared_input_types == (tf.float32,)


def test_a_call_that_is_not_to_be_taken_apart_sees_and_changes_variables():
    v = tf.Variable(1.0, use_resource=True)

    @Defun(tf.resource, noinline=True)
    def add(handle):
        tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant(2.0))

    before = v.read_value()
    with tf.control_dependencies([before]):
        call = add(v.handle)
    with tf.control_dependencies([call]):
        after = v.read_value()
    assert run([before, after]) == [1.0, 3.0]


def test_a_missing_function_is_named(graph):
    y = tf.raw_ops.PartitionedCall(args=[tf.constant(1)], Tout=[tf.int32], f="Nowhere")
    with pytest.raises(errors.NotFoundError, match="Function Nowhere is not defined"):
        run(y)


def test_a_second_function_of_a_name_is_refused(graph):
    Defun(tf.float32, func_name="F")(lambda x: x + 1.0)(tf.constant(1.0))
    with pytest.raises(errors.InvalidArgumentError, match="different function with the same name"):
        Defun(tf.float32, func_name="F")(lambda x: x + 2.0)(tf.constant(1.0))


def test_state_inside_of_a_branch_changes_where_it_is_taken():
    v = tf.Variable(1.0, use_resource=True)
    pick = tf.placeholder(tf.bool, [])

    @Defun(tf.resource)
    def add(handle):
        tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant(2.0))
        return tf.constant(1)

    @Defun(tf.resource)
    def leave(handle):
        return tf.constant(0)

    taken = functional_ops.If(pick, [v.handle], add, leave)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([taken, v], {pick: False})[0] == [0]
        assert session.run(v) == 1.0
        assert session.run(taken, {pick: True}) == [1]
        assert session.run(v) == 3.0


def test_case_takes_the_last_branch_for_other_numbers():
    branches = [_times(float(i)) for i in range(3)]
    index = tf.placeholder(tf.int32, [])
    y = tf.raw_ops.Case(
        branch_index=index, input=[tf.constant(10.0)], Tout=[tf.float32], branches=branches
    )
    assert [run(y, {index: i})[0] for i in (0, 1, 2, 7, -1)] == [0.0, 10.0, 20.0, 20.0, 20.0]


def _times(factor):
    @Defun(tf.float32, func_name=f"Times{int(factor)}")
    def times(x):
        return x * factor

    return times


def test_the_gradient_of_a_branch_is_that_of_the_one_taken():
    @Defun(tf.float32, func_name="Square")
    def square(x):
        return x * x

    @Defun(tf.float32, func_name="Negate")
    def negate(x):
        return -x

    x = tf.placeholder(tf.float32, [])
    (y,) = functional_ops.If(x > 0, [x], square, negate)
    (gradient,) = tf.gradients(y, x)
    assert run(gradient, {x: 3.0}) == 6.0
    assert run(gradient, {x: -3.0}) == -1.0
