"""The share of one column in a linear model."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor


def dense_weighted_sum(tensor: Any, width: int, weights: Any) -> Tensor:
    """Return the product of a dense column's tensor and its weights [width, units]."""
    matrix = tf.reshape(tensor, (tf.shape(tensor)[0], width))
    return tf.matmul(matrix, weights, name="weighted_sum")


def categorical_weighted_sum(sparse_tensors: Any, weights: Any, combiner: str) -> Tensor:
    """Return the weights, out of [ids, units], of a column's ids, combined for each example.

    `combiner` is "sum", "mean" or "sqrtn".
    """
    ids = _as_matrix(sparse_tensors.id_tensor)
    factors = sparse_tensors.weight_tensor
    if factors is not None:
        factors = _as_matrix(factors)
    return tf.nn.safe_embedding_lookup_sparse(
        weights, ids, sparse_weights=factors, combiner=combiner, name="weighted_sum"
    )


def _as_matrix(tensor: Any) -> SparseTensor:
    return tf.sparse.reshape(tensor, [tf.shape(tensor)[0], -1])
