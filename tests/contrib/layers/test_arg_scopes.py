"""Layers under scopes of arguments, and their collections."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

layers = tf.contrib.layers
slim = tf.contrib.slim


def test_a_scope_sets_defaults_and_a_call_overrides_them() -> None:
    x = tf.ones([1, 4, 4, 1])
    with slim.arg_scope([slim.conv2d], stride=2, activation_fn=None):
        assert slim.conv2d(x, 3, 3).shape.as_list() == [1, 2, 2, 3]
        assert slim.conv2d(x, 3, 3, stride=1).shape.as_list() == [1, 4, 4, 3]
    assert slim.conv2d(x, 3, 3).op.type == "Relu"


def test_scopes_nest_and_can_be_opened_again() -> None:
    x = tf.ones([1, 4, 4, 1])
    with slim.arg_scope([slim.conv2d], padding="VALID"):
        with slim.arg_scope([slim.conv2d], stride=3) as inner:
            pass
        assert slim.conv2d(x, 1, 2).shape.as_list() == [1, 3, 3, 1]
    with slim.arg_scope(inner):
        assert slim.conv2d(x, 1, 2).shape.as_list() == [1, 1, 1, 1]


def test_a_function_that_takes_no_part_is_refused() -> None:
    with pytest.raises(ValueError, match="add_arg_scope"), slim.arg_scope([len], x=1):
        pass
    with pytest.raises(TypeError, match="list/tuple or reused"), slim.arg_scope(len):
        pass


def test_layers_and_slim_share_functions() -> None:
    assert slim.conv2d is layers.conv2d is layers.convolution2d
    assert slim.layers.conv2d is layers.conv2d
    assert slim.utils.collect_named_outputs is layers.utils.collect_named_outputs
    assert slim.has_arg_scope(layers.separable_conv2d)


def test_outputs_are_collected_under_the_names_of_their_scopes() -> None:
    x = tf.ones([2, 3])
    with tf.variable_scope("net"):
        layers.fully_connected(x, 2, scope="fc", outputs_collections="points")
    assert list(layers.utils.convert_collection_to_dict("points")) == ["net/fc"]


def test_gradients_of_batch_norm_without_scale_reach_every_channel() -> None:
    x = tf.constant(np.random.RandomState(1).rand(4, 2, 2, 3).astype(np.float32))
    y = layers.batch_norm(x, is_training=False)
    grad = tf.gradients(tf.reduce_sum(y * y), x)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert np.all(session.run(grad) != 0)
