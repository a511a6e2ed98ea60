"""Graphs whose operations run when they are called."""

from __future__ import annotations

import gc
import weakref

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.graph.card import get


def test_values_last_as_long_as_their_tensors():
    graph = ImmediateGraph()
    with graph.as_default():
        value = tf.constant(1.0)
        seen = weakref.ref(value)
        for _ in range(3):
            value = tf.multiply(value, 2.0)
        gc.collect()
        assert seen() is None
        assert value.numpy() == 8.0
    assert not graph.get_operations()


def test_what_ran_under_a_tape_is_differentiated():
    with ImmediateGraph().as_default():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x if x > 2 else x
        assert tape.gradient(y, x).numpy() == 6.0


def test_functions_and_variables_run_at_once():
    with ImmediateGraph().as_default():
        v = tf.Variable(2.0)
        v.assign_add(3.0)
        double = tf.function(lambda x: x * 2.0)
        assert double(v.read_value()).numpy() == 10.0


def test_tensors_of_graphs_have_no_values():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
    with ImmediateGraph().as_default() as graph:
        with pytest.raises(RuntimeError, match="Attempting to capture a symbolic tensor"):
            graph.add_op(get("Square"), [x], {"T": tf.float32}, [tf.float32], "s")
