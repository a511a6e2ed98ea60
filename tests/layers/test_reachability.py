"""Consumers of a tensor, direct and indirect."""

import pytest

import stillflow as tf
from stillflow.layers.reachability import reachable_from


def test_what_is_computed_from_a_tensor_is_reachable():
    x, other = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    y = tf.exp(x)
    z = y + other
    reachable = reachable_from(x)
    assert id(x) in reachable and id(y) in reachable and id(z.op) in reachable
    assert id(other) not in reachable


def test_control_dependencies_count():
    first = tf.no_op()
    with tf.control_dependencies([first]):
        second = tf.no_op()
    assert id(second) in reachable_from(first)


def test_variables_reach_what_reads_them():
    v = tf.get_variable("v", [])
    assert id(tf.exp(v)) in reachable_from(v)


def test_the_search_ends_where_all_targets_are_found():
    x = tf.placeholder(tf.float32)
    near = tf.exp(x)
    far = tf.exp(tf.exp(near))
    reachable = reachable_from([x], [near])
    assert id(near) in reachable and id(far) not in reachable


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="Expected Operation, Variable, or Tensor, got 3"):
        reachable_from(3)
