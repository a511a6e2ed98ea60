"""The type of a TensorArray."""

from __future__ import annotations

import pytest

import stillflow as tf


def test_the_type_of_an_array():
    with tf.Graph().as_default():
        array = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[None, 2])
        found = tf.TensorArraySpec.from_value(array)
    assert found == tf.TensorArraySpec([None, 2], tf.int32, True, True)
    with pytest.raises(TypeError, match="Expected value to be a TensorArray"):
        tf.TensorArraySpec.from_value(1)


def test_types_that_go_together():
    wide, narrow = tf.TensorArraySpec([None, 2]), tf.TensorArraySpec([3, 2], infer_shape=False)
    assert wide.is_compatible_with(narrow)
    assert wide.most_specific_compatible_type(narrow) == tf.TensorArraySpec(
        [None, 2], infer_shape=False
    )
    assert not wide.is_compatible_with(tf.TensorArraySpec([None, 2], tf.int32))
    with pytest.raises(ValueError, match="Types are not compatible"):
        wide.most_specific_compatible_type(tf.TensorArraySpec([5]))
