"""Linear operators, products and norms that solvers are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


class LinearOperator(NamedTuple):
    """A matrix as solvers take it; any object with these attributes will do.

    Attributes:
      shape: [rows, columns], a list or an int32 tensor.
      dtype: of the vectors.
      apply: gives the product with a column [columns, 1].
      apply_adjoint: gives that of the conjugate transpose with a column [rows, 1].
    """

    shape: Any
    dtype: Any
    apply: Callable[[Any], Any]
    apply_adjoint: Callable[[Any], Any]


def _operator(
    matrix: Any, apply: Callable[[Any], Any], apply_adjoint: Callable[[Any], Any]
) -> LinearOperator:
    static = matrix.get_shape()
    shape = static.as_list() if static.is_fully_defined() else tf.shape(matrix)
    return LinearOperator(shape, matrix.dtype, apply, apply_adjoint)


@export("contrib.solvers.util.create_operator")
def create_operator(matrix: Any) -> LinearOperator:
    """Return the operator of a matrix.

    Args:
      matrix: numbers [m, n].
    """
    return _operator(
        matrix,
        lambda v: tf.matmul(matrix, v, adjoint_a=False),
        lambda v: tf.matmul(matrix, v, adjoint_a=True),
    )


@export("contrib.solvers.util.identity_operator")
def identity_operator(matrix: Any) -> LinearOperator:
    """Return the operator that leaves vectors as they are, with the shape and dtype of a matrix.

    Args:
      matrix: numbers [n, n]; its values are not used.
    """
    return _operator(matrix, lambda v: v, lambda v: v)


@export("contrib.solvers.util.dot")
def dot(x: Any, y: Any) -> Tensor:
    """Return the scalar product of two tensors of one shape; the first one's conjugate is taken."""
    return tf.reduce_sum(tf.conj(x) * y)


@export("contrib.solvers.util.l2norm_squared")
def l2norm_squared(v: Any) -> Tensor:
    """Return the sum of the squares of real numbers of any shape."""
    return tf.constant(2, dtype=v.dtype.base_dtype) * tf.nn.l2_loss(v)


@export("contrib.solvers.util.l2norm")
def l2norm(v: Any) -> Tensor:
    """Return the length of a vector: the root of the sum of its squares."""
    return tf.sqrt(l2norm_squared(v))


@export("contrib.solvers.util.l2normalize")
def l2normalize(v: Any) -> tuple[Any, Any]:
    """Return a vector made as long as one, and how long it was."""
    norm = l2norm(v)
    return v / norm, norm
