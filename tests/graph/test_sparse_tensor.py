"""Tensors given by the places and values of their elements."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def test_parts_become_tensors_of_known_types() -> None:
    x = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 4])
    assert x.indices.dtype == tf.int64
    assert x.dense_shape.dtype == tf.int64
    assert x.dtype == tf.int32
    assert x.get_shape().as_list() == [3, 4]
    assert x.graph is tf.get_default_graph()
    assert str(x).startswith("SparseTensor(indices=Tensor(")


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="must have rank 2"):
        tf.SparseTensor([0, 1], [5, 6], [3, 4])
    with pytest.raises(ValueError, match="Dimensions 2 and 1 are not compatible"):
        tf.SparseTensor([[0, 1], [2, 0]], [5], [3, 4])


def test_values_are_fetched_and_fed_as_a_whole() -> None:
    x = tf.sparse_placeholder(tf.float32)
    doubled = tf.SparseTensor(x.indices, x.values * 2, x.dense_shape)
    value = tf.SparseTensorValue(np.array([[1, 0]]), np.float32([3]), np.array([2, 2]))
    with tf.Session() as session:
        for fed in (value, ([[1, 0]], [3], [2, 2])):
            fetched = session.run(doubled, {x: fed})
            assert isinstance(fetched, tf.SparseTensorValue)
            assert fetched.indices.tolist() == [[1, 0]]
            assert fetched.values.tolist() == [6]
            assert fetched.dense_shape.tolist() == [2, 2]


def test_values_become_sparse_tensors() -> None:
    value = tf.SparseTensorValue([[0, 0]], [1.5], [1, 1])
    x = tf.convert_to_tensor_or_sparse_tensor(value)
    assert isinstance(x, tf.SparseTensor)
    assert tf.convert_to_tensor_or_sparse_tensor([1, 2]).shape.as_list() == [2]
    with pytest.raises(RuntimeError, match="Sparse dtype: requested = int32, actual = float32"):
        tf.convert_to_tensor_or_sparse_tensor(value, tf.int32)


def test_they_are_not_dense() -> None:
    x = tf.SparseTensor([[0, 1]], [5], [3, 4])
    with pytest.raises(TypeError, match="Failed to convert object of type"):
        tf.identity(tf.convert_to_tensor(x))
