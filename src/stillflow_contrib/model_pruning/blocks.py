"""Blocks of matrices: pooled to one number each, and numbers spread over blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor


def kronecker_product(mat1: Any, mat2: Any) -> Tensor:
    """Return the Kronecker product of matrices [m1, n1] and [m2, n2]: [m1 * m2, n1 * n2]."""
    (rows, columns), (inner_rows, inner_columns) = (
        matrix.get_shape().as_list() for matrix in (mat1, mat2)
    )
    blocks = tf.reshape(mat1, [rows, 1, columns, 1])
    product = blocks * tf.reshape(mat2, [1, inner_rows, 1, inner_columns])
    return tf.reshape(product, [rows * inner_rows, columns * inner_columns])


def expand_tensor(tensor: Any, block_dims: Sequence[int]) -> Tensor:
    """Return a matrix with a block in the place of each number.

    Args:
      tensor: [rows, columns].
      block_dims: height and width of a block.

    Returns:
      [rows * height, columns * width].

    Raises:
      ValueError: for another rank, or other than two sizes.
    """
    if tensor.get_shape().ndims != 2:
        raise ValueError("Input tensor must be rank 2")
    if len(block_dims) != 2:
        raise ValueError("block_dims must have 2 elements")
    height, width = block_dims
    expanded = _repeated_rows(tensor, height) if height > 1 else tensor
    if width > 1:
        expanded = tf.transpose(_repeated_rows(tf.transpose(expanded), width))
    return expanded


def _repeated_rows(tensor: Any, times: int) -> Tensor:
    rows, columns = tensor.shape.as_list()
    places = np.arange(rows, dtype=np.int32) * times + np.arange(times, dtype=np.int32)[:, None]
    indices = tf.constant(places.reshape([-1, 1]))
    return tf.scatter_nd(indices, tf.tile(tensor, [times, 1]), [rows * times, columns])


def factorized_pool(
    input_tensor: Any, window_shape: Sequence[int], pooling_type: str, strides: Sequence[int],
    padding: str, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a matrix pooled along its rows, then along its columns.

    Args:
      input_tensor: [height, width].
      window_shape, strides: for both axes.
      pooling_type: "AVG" or "MAX".
      padding: "SAME" or "VALID".
      name: a name scope.

    Raises:
      ValueError: for another rank.
    """
    if input_tensor.get_shape().ndims != 2:
        raise ValueError("factorized_pool() accepts tensors of rank 2 only")
    height, width = input_tensor.get_shape()

    def pooled(value: Any, axis: int) -> Tensor:
        return tf.nn.pool(
            value,
            window_shape=[1, window_shape[axis]],
            pooling_type=pooling_type,
            strides=[1, strides[axis]],
            padding=padding,
        )

    with tf.name_scope(name, "factorized_pool"):
        aligned = tf.reshape(
            input_tensor, [1, 1, height, width], name=f"{input_tensor.op.name}_aligned"
        )
        swapped = tf.transpose(pooled(aligned, 0), perm=[0, 1, 3, 2])
        both = pooled(swapped, 1)
    return tf.squeeze(tf.transpose(both, perm=[0, 1, 3, 2]), axis=[0, 1])
