"""Static values of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.static_value import constant_value_as_shape, shape_tensor

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def test_constants_and_static_shapes_are_known() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(tf.shape(x)).tolist() == [2, 3]
    assert tf.get_static_value(tf.size(x)) == 6
    assert tf.get_static_value(tf.rank(x)) == 2
    assert tf.get_static_value(tf.fill([2], 7)).tolist() == [7, 7]
    assert tf.get_static_value(tf.range(2, 8, 3)).tolist() == [2, 5]
    assert tf.get_static_value(tf.cast(tf.constant([1.7]), tf.int32)).tolist() == [1]


def test_the_rest_is_not() -> None:
    assert tf.get_static_value(tf.placeholder(tf.float32, [2])) is None
    assert tf.get_static_value(tf.shape(tf.placeholder(tf.float32, [2, None]))) is None
    assert tf.get_static_value(tf.constant(1) + tf.constant(2)) is None


def test_parts_of_a_packed_vector_may_be_known() -> None:
    unknown = tf.placeholder(tf.int32, [])
    packed = tf.stack([tf.constant(4), unknown])
    assert tf.get_static_value(packed) is None
    known = tf.get_static_value(packed, partial=True)
    assert known.tolist() == [4, None]


def test_a_value_that_was_relied_on_is_not_fed() -> None:
    x = tf.constant([1, 2])
    assert tf.Session().run(x, {x: [3, 4]}).tolist() == [3, 4]
    tf.get_static_value(x)
    with pytest.raises(ValueError, match="may not be fed"):
        tf.Session().run(x, {x: [3, 4]})


def test_vectors_are_read_as_shapes() -> None:
    unknown = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [2, None, 5])
    for vector, sizes in (
        (tf.constant([3, -1]), [3, None]),
        (tf.shape(x), [2, None, 5]),
        (tf.shape(x)[1:], [None, 5]),
        (tf.concat([tf.shape(x), [7]], 0), [2, None, 5, 7]),
        (tf.stack([unknown, 4]), [None, 4]),
        (tf.placeholder(tf.int32, [2]), [None, None]),
        (tf.constant([], tf.int32), []),
    ):
        assert constant_value_as_shape(vector).as_list() == sizes
    assert constant_value_as_shape(tf.constant(-1)).ndims is None
    assert constant_value_as_shape(tf.placeholder(tf.int32, [None])).ndims is None
    with pytest.raises(ValueError, match="Received a scalar value '3' as shape"):
        constant_value_as_shape(tf.constant(3))
    with pytest.raises(ValueError, match="Received a scalar with unknown value as shape"):
        constant_value_as_shape(unknown)


def test_shapes_become_vectors() -> None:
    for shape, values, dtype in (
        ([], [], tf.int32),
        ([2, tf.Dimension(3)], [2, 3], tf.int32),
        (np.int64([4]), [4], tf.int64),
        (tf.TensorShape([1, 2]), [1, 2], tf.int32),
    ):
        tensor = shape_tensor(shape)
        assert tensor.dtype == dtype
        assert tf.get_static_value(tensor).tolist() == values
