"""Kernels of pairs of vectors, which layers of random features approximate."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def exact_gaussian_kernel(x: Any, y: Any, stddev: Any) -> Tensor:
    """Return exp(-|u - v|^2 / (2 stddev^2)) for all rows u of `x` and v of `y`.

    Both are [rows, size] or [size], the result [rows, other rows]. ValueError for others.
    """
    distance = tf.reduce_sum(tf.squared_difference(*_pairs(x, y)), 2)
    return tf.exp(-distance / (2 * stddev * stddev))


def exact_laplacian_kernel(x: Any, y: Any, stddev: Any) -> Tensor:
    """exp(-|u - v|_1 / stddev) for all rows; see `exact_gaussian_kernel`."""
    distance = tf.reduce_sum(tf.abs(tf.subtract(*_pairs(x, y))), 2)
    return tf.exp(-distance / stddev)


def inner_product(u: Any, v: Any) -> Tensor:
    """Return the products of all rows of `u` and `v`, [rows, other rows]."""
    return tf.matmul(_to_matrix(u), _to_matrix(v), transpose_b=True)


def _to_matrix(x: Any) -> Tensor:
    rank = len(x.shape)
    if rank not in (1, 2):
        raise ValueError(f"The input tensor should have rank 1 or 2. Given rank: {rank}")
    return tf.expand_dims(x, 0) if rank == 1 else x


def _pairs(x: Any, y: Any) -> tuple[Any, Any]:
    """Both repeated to [rows, other rows, size]."""
    x, y = _to_matrix(x), _to_matrix(y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            "The outermost dimensions of the input tensors should match. Given: "
            f"{y.shape[1]} vs {x.shape[1]}."
        )
    repeated = tf.tile(tf.expand_dims(x, 1), [1, y.shape[0], 1])
    return repeated, tf.tile(tf.expand_dims(y, 0), [x.shape[0], 1, 1])
