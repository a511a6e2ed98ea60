"""Errors of sparse kernels for operands that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.sparse.arithmetic import sparse_dense_cwise_add


def run(make: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def sparse(indices: Any, size: Any) -> Any:
    return tf.SparseTensor(indices, [1.0] * len(indices), size)


def test_ranks_are_compared_before_sizes() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"same ranks; got shapes: \[1 1\] "):
        run(lambda: tf.sparse.maximum(sparse([[0, 0]], [1, 1]), sparse([[0]], [2])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="got 1 and 2 for dimension 0"):
        run(lambda: tf.sparse.maximum(sparse([[0]], [1]), sparse([[0]], [2])))


@pytest.mark.parametrize("index", [[-1, 0], [1, 3]])
def test_an_index_outside_of_the_dense_operand(index: list[int]) -> None:
    value = tf.SparseTensorValue([[0, 0], index], [1, 2], [2, 2])
    message = r"invalid index on dimension 1; dense tensor shape: \[2,2\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(lambda: tf.sparse.add(value, tf.zeros([2, 2], tf.int32)))


def test_an_axis_is_refused_when_the_graph_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.sparse.reduce_sum(sparse([[0, 0]], [2, 3]), -3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reduction dimension -3, for"):
            session.run(total)


def test_dense_values_are_added_where_the_sparse_tensor_has_any() -> None:
    result = run(lambda: sparse_dense_cwise_add(
        sparse([[0, 1], [1, 0]], [2, 2]), tf.constant([[1.0, 2.0], [3.0, 4.0]])))  # fmt: skip
    np.testing.assert_array_equal(result.values, [3.0, 4.0])


def test_indices_outside_of_the_shape_stay_where_nothing_is_reshaped() -> None:
    value = tf.SparseTensorValue([[0, 5]], [1], [2, 2])
    assert run(lambda: tf.sparse.reshape(value, [2, -1])).indices.tolist() == [[0, 5]]
