"""Copies of a function's operations in another graph."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.functional.lifting import UnliftableError, lift_to_graph
from stillflow.graph.eager_mode import eager_mode
from stillflow.ops.functional.traced_graph import TracedGraph


def test_captures_come_in_the_order_of_the_body():
    with eager_mode():
        variables = [tf.Variable(float(i), use_resource=True) for i in range(3)]
        body = tf.function(lambda: tf.add_n(variables)).get_concrete_function().graph
        other = TracedGraph("lifted")
        copies = lift_to_graph(body.outputs, other, add_sources=True, handle_captures=True)
        assert [t.name for t in other.internal_captures] == [t.name for t in body.internal_captures]
        assert other.external_captures == body.external_captures
        assert copies[body.outputs[0]].graph is other


def test_colocations_stay_behind():
    def body():
        two, ten = tf.constant(2.0, name="two"), tf.constant(10.0, name="ten")
        with tf.colocate_with(two):
            return tf.multiply(two, ten, name="twenty")

    with eager_mode():
        traced = tf.function(body).get_concrete_function().graph
        other = TracedGraph("lifted")
        lift_to_graph(traced.outputs, other)
        names = [op.name for op in other.get_operations()]
        assert names == ["two", "ten", "twenty", traced.outputs[0].op.name]
        for op in other.get_operations():
            assert op.colocation_groups() == [b"loc:@" + op.name.encode()]


def test_values_and_waits_are_those_of_the_original():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.placeholder_with_default([1.0, 2.0], [None], name="y")
        with tf.control_dependencies([tf.no_op(name="first")]):
            z = tf.add(x * y, 1.0, name="z")
    other = tf.Graph()
    copies = lift_to_graph([z], other, sources=[x, y])
    product = copies[z].op.inputs[0].op
    assert [op.name for op in product.control_inputs] == ["first"]
    with tf.Session(graph=other) as session:
        np.testing.assert_array_equal(session.run(copies[z], {copies[x]: [3.0, 4.0]}), [4.0, 9.0])
    again = lift_to_graph([z], other, op_map=copies)
    assert again is copies


def test_placeholders_and_loops_are_not_lifted():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.sqrt(x, name="y")
        with pytest.raises(UnliftableError, match=r"y \(Sqrt\) <- x \(Placeholder\)|depends"):
            lift_to_graph([y], tf.Graph())
        with pytest.raises(UnliftableError, match="depends transitively"):
            lift_to_graph([y], tf.Graph(), disallowed_placeholders=[y.op], add_sources=True)
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        with pytest.raises(UnliftableError, match="part of a loop"):
            lift_to_graph([loop], tf.Graph())
