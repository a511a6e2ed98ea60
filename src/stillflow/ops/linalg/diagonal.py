"""Public functions about diagonals of matrices, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros, zeros_like
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.shape import rank, reshape, shape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.linalg.matrix_diag import (
    matrix_diag_op,
    matrix_diag_part_op,
    matrix_diag_part_v2_op,
    matrix_diag_v2_op,
    matrix_set_diag_op,
    matrix_set_diag_v2_op,
)

# ---- Diagonals. TF 1.15 builds the first versions of the ops, which know the main diagonal only.


@export("linalg.diag", "matrix_diag")
def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Square matrices that are zero but for their diagonal.

    Args:
      diagonal: `[..., n]`.
      name: of the operation.
      k, num_rows, num_cols, padding_value: ignored, as TF 1.15 ignores them.
    """
    del k, num_rows, num_cols, padding_value
    return matrix_diag_op(diagonal, name=name)


@export("linalg.diag_part", "matrix_diag_part")
@dispatchable
def matrix_diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0
) -> Tensor:
    """Return the diagonals of matrices.

    Args:
      input: `[..., rows, columns]`.
      name: of the operation.
      k, padding_value: ignored, as TF 1.15 ignores them.
    """
    del k, padding_value
    return matrix_diag_part_op(input, name=name)


@export("linalg.set_diag", "matrix_set_diag")
def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:
    """Matrices with their diagonals replaced.

    Args:
      input: `[..., rows, columns]`.
      diagonal: `[..., min(rows, columns)]`.
      name: of the operation.
      k: ignored, as TF 1.15 ignores it.
    """
    del k
    return matrix_set_diag_op(input, diagonal, name=name)


# ---- Gradients


def _zero(like: Any) -> Tensor:
    return zeros([], dtype=like.dtype)


def _is_main(k: Tensor) -> bool:
    """Return True if only the main diagonal is meant.

    TF takes it for any other too, and fails; these get the operations that know others.
    """
    known = constant_value(k)
    return known is not None and not np.any(known)


def _part(grad: Any, k: Tensor) -> Tensor:
    if _is_main(k):
        return matrix_diag_part(grad)
    return matrix_diag_part_v2_op(grad, k, _zero(grad))


def _with_diagonal(matrix: Any, diagonal: Any, k: Tensor) -> Tensor:
    if _is_main(k):
        return matrix_set_diag(matrix, diagonal)
    return matrix_set_diag_v2_op(matrix, diagonal, k)


@matrix_diag_op.gradient
def matrix_diag_gradient(node: Node, grad: Any) -> Gradients:
    return matrix_diag_part(grad)


@matrix_diag_v2_op.gradient
def matrix_diag_v2_gradient(node: Node, grad: Any) -> Gradients:
    return [_part(grad, node.inputs[1]), None, None, None, None]


@matrix_diag_part_op.gradient
def matrix_diag_part_gradient(node: Node, grad: Any) -> Gradients:
    x = node.inputs[0]
    sizes = x.get_shape()[-2:]
    if sizes.is_fully_defined() and sizes[0] == sizes[1]:
        return matrix_diag(grad)
    return matrix_set_diag(zeros_like(x), grad)


@matrix_diag_part_v2_op.gradient
def matrix_diag_part_v2_gradient(node: Node, grad: Any) -> Gradients:
    x, k, _ = node.inputs
    sizes = x.get_shape()[-2:]
    if sizes.is_fully_defined():
        rows, columns = sizes.as_list()
        if rows == columns and _is_main(k):
            return [matrix_diag(grad), None, None]
        return [matrix_diag_v2_op(grad, k, rows, columns, _zero(grad)), None, None]
    return [_with_diagonal(zeros_like(x), grad, k), None, None]


@matrix_set_diag_op.gradient
def matrix_set_diag_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.math.reductions import reduce_min

    x, diagonal = node.inputs
    whole = x.get_shape().merge_with(grad.get_shape())
    batch = whole[:-2].merge_with(diagonal.get_shape()[:-1])
    sizes = whole[-2:]
    diagonal_shape: Any
    if batch.is_fully_defined() and sizes.is_fully_defined():
        diagonal_shape = [*batch.as_list(), min(sizes.as_list())]
    else:
        with get_default_graph().colocate_with(grad):
            grad_shape, grad_rank = shape(grad), rank(grad)
            outer = slice_(grad_shape, [0], [grad_rank - 2])
            inner = slice_(grad_shape, [grad_rank - 2], [2])
            diagonal_shape = concat([outer, [reduce_min(inner)]], 0)
    blank = zeros(diagonal_shape, dtype=grad.dtype)
    return [matrix_set_diag(grad, blank), matrix_diag_part(grad)]


@matrix_set_diag_v2_op.gradient
def matrix_set_diag_v2_gradient(node: Node, grad: Any) -> Gradients:
    _, diagonal, k = node.inputs
    diagonal_shape: Any = diagonal.get_shape()
    if not diagonal_shape.is_fully_defined():
        diagonal_shape = _diagonal_shape(grad, k)
    blank = zeros(diagonal_shape, dtype=grad.dtype)
    return [_with_diagonal(grad, blank, k), _part(grad, k), None]


def _diagonal_shape(grad: Any, k: Tensor) -> Tensor:
    """Return the shape of the diagonals that `k` names, found out when the graph runs."""
    from stillflow.ops.control_flow.cond import cond
    from stillflow.ops.math.binary import minimum
    from stillflow.ops.math.comparison import equal, greater, less

    grad_shape = shape(grad)
    batch = slice_helper(grad_shape, slice(None, -2))
    sizes = slice_helper(grad_shape, slice(-2, None))
    indices = reshape(k, [-1])
    lower: Any = slice_helper(indices, 0)
    upper: Any = slice_helper(indices, -1)
    below: Any = cond(less(upper, 0), lambda: upper, lambda: 0)
    above: Any = cond(greater(lower, 0), lambda: -lower, lambda: 0)
    length = minimum(slice_helper(sizes, 0) + below, slice_helper(sizes, 1) + above)
    tail = cond(
        equal(lower, upper),
        lambda: convert_to_tensor([length]),
        lambda: convert_to_tensor([upper - lower + 1, length]),
    )
    return concat([batch, tail], 0)


# ---- eye


@export("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return an identity matrix, or a batch of them.

    Args:
      num_rows: an integer or an int32 scalar.
      num_columns: the same; by default `num_rows`.
      batch_shape: a list or vector of integers, the dimensions before those of the matrix.
      dtype: of the elements.
      name: of the scope.

    Raises:
      TypeError: if a size is neither an integer nor a tensor.

    Example:
      >>> print(tf.Session().run(tf.eye(2, num_columns=3)))
      [[1. 0. 0.]
       [0. 1. 0.]]
    """
    from stillflow.ops.math.binary import minimum

    with name_scope(name, default_name="eye", values=[num_rows, num_columns, batch_shape]):
        is_square = num_columns is None
        batch_shape = [] if batch_shape is None else batch_shape
        num_columns = num_rows if num_columns is None else num_columns
        if isinstance(num_rows, Tensor) or isinstance(num_columns, Tensor):
            size: Any = minimum(num_rows, num_columns)
        else:
            if not all(isinstance(n, (int, np.integer)) for n in (num_rows, num_columns)):
                raise TypeError("num_rows and num_columns must be positive integer values.")
            is_square = num_rows == num_columns
            size = np.minimum(num_rows, num_columns)
        whole: Any = None
        if isinstance(batch_shape, Tensor) or isinstance(size, Tensor):
            batch = convert_to_tensor(batch_shape, name="shape", dtype=dtypes.int32)
            diagonal_shape: Any = concat((batch, [size]), axis=0)
            if not is_square:
                whole = concat((batch, [num_rows, num_columns]), axis=0)
        else:
            diagonal_shape = [*batch_shape, size]
            whole = [*batch_shape, num_rows, num_columns]
        diagonal = ones(diagonal_shape, dtype=dtype)
        if is_square:
            return matrix_diag(diagonal)
        return matrix_set_diag(zeros(whole, dtype=dtype), diagonal)
