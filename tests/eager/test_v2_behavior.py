"""Programs that begin with the switches of TensorFlow 2."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager import v2_behavior


def test_disabling_the_second_generation_restores_the_defaults_of_the_first():
    tf.enable_v2_tensorshape()
    tf.enable_resource_variables()
    tf.enable_tensor_equality()
    tf.compat.v1.disable_v2_behavior()
    assert isinstance(tf.TensorShape([3])[0], tf.Dimension)
    assert not tf.resource_variables_enabled()
    assert not tf.control_flow_v2_enabled()
    assert not tf.Tensor._USE_EQUALITY
    assert not tf.executing_eagerly()


def test_tensors_of_graphs_compare_as_objects_whatever_the_switch_says():
    tf.enable_tensor_equality()
    try:
        with tf.Graph().as_default():
            one, same = tf.constant(1), tf.constant(1)
            assert one == one
            assert one != same
            assert len({one, same}) == 2
    finally:
        tf.disable_tensor_equality()


def test_enabling_the_second_generation_changes_what_graphs_are_made_of():
    tf.reset_default_graph()
    tf.compat.v2.enable_v2_behavior()
    try:
        assert tf.executing_eagerly() and v2_behavior.is_enabled
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.placeholder(tf.float32, [None])
            assert x.shape[0] is None
            variable = tf.Variable(1.0)
            chosen = tf.cond(x[0] > 0, lambda: variable * 2.0, lambda: 0.0)
            assert {"VarHandleOp", "If"} <= {op.type for op in graph.get_operations()}
            session.run(tf.compat.v1.global_variables_initializer())
            assert session.run(chosen, {x: [3]}) == 2.0
        assert tf.add(1, 2).numpy() == 3
    finally:
        tf.compat.v1.disable_v2_behavior()
    assert not v2_behavior.is_enabled


def test_the_second_generation_comes_before_any_graph():
    tf.get_default_graph()
    with pytest.raises(ValueError, match="must be called at program startup"):
        tf.enable_v2_behavior()
    assert not tf.control_flow_v2_enabled()


def test_programs_of_the_second_generation_run_at_once_and_in_functions():
    tf.reset_default_graph()
    tf.compat.v2.enable_v2_behavior()
    try:

        @tf.function
        def even_sum(n):
            total = 0
            for i in tf.range(n):
                if i % 2 == 0:
                    total += i
            return total

        assert even_sum(tf.constant(6)).numpy() == 6
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.train_on_batch(np.ones((1, 2)), np.ones((1, 1)))
        assert model(tf.ones([3, 2])).shape == (3, 1)
        assert [int(x) for x in tf.data.Dataset.range(3)] == [0, 1, 2]
    finally:
        tf.compat.v1.disable_v2_behavior()
