"""Programs that begin with the switches of TensorFlow 2."""

from __future__ import annotations

import stillflow as tf


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
