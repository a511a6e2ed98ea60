"""Linear least squares."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import matrix_transpose
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.linalg.decompositions import cholesky_op
from stillflow.ops.linalg.diagonal import eye
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.linalg.solvers import cholesky_solve, matrix_solve_ls_op
from stillflow.ops.math.cast import cast

# Whole problems above this size are not kept in cache between the ops of the composition.
_CACHE_BYTES = 256000


def _identities(matrix: Any, axis: int) -> Tensor:
    """Return a batch of identity matrices whose size is one side of the matrices."""
    sizes = shape_of(matrix)
    batch, side = sizes[:-2], sizes[axis]
    identities = eye(side, batch_shape=batch, dtype=matrix.dtype)
    known = matrix.shape[axis]
    identities.set_shape(matrix.shape[:-2].concatenate([known, known]))
    return identities


def _gramian_cholesky(matrix: Any, l2_regularizer: Any, tall: bool) -> Tensor:
    """Return the factor of the smaller Gramian, regularized."""
    gramian = matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    if isinstance(l2_regularizer, Tensor) or l2_regularizer != 0:
        gramian += l2_regularizer * _identities(matrix, -1 if tall else -2)
    return cholesky_op(gramian)


def _overdetermined(matrix: Any, rhs: Any, l2_regularizer: Any) -> Tensor:
    factor = _gramian_cholesky(matrix, l2_regularizer, tall=True)
    return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))


def _underdetermined(matrix: Any, rhs: Any, l2_regularizer: Any) -> Any:
    factor = _gramian_cholesky(matrix, l2_regularizer, tall=False)
    return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)


def _by_shape(matrix: Any, tall: Any, wide: Any) -> Tensor:
    """`tall()` if the matrices have as many rows as columns or more, else `wide()`."""
    sides = matrix.shape[-2:]
    if sides.is_fully_defined():
        return tall() if sides[-2] >= sides[-1] else wide()
    sides = shape_of(matrix)[-2:]
    return cond(sides[-2] >= sides[-1], tall, wide)


def _worth_composing(matrix: Any) -> bool:
    shape = matrix.shape
    if not shape.is_fully_defined():
        return True
    io_bound = shape[:-2].num_elements() > np.min(shape[-2:].as_list())
    return not (shape.num_elements() * matrix.dtype.size > _CACHE_BYTES and io_bound)


@export("linalg.lstsq", "matrix_solve_ls")
def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Return the X that minimizes `|matrix @ X - rhs|^2 + l2_regularizer * |X|^2`.

    Args:
      matrix: `[..., M, N]`.
      rhs: `[..., M, K]`.
      l2_regularizer: a scalar.
      fast: whether the normal equations are solved; else by complete orthogonal decomposition,
        which ignores the regularizer and takes matrices without full rank.

    Raises:
      NotImplementedError: for complex128 with a regularizer.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    if matrix.dtype == dtypes.complex128 and l2_regularizer != 0:
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to "
            "poor accuracy."
        )
    if fast is False or not _worth_composing(matrix):
        return matrix_solve_ls_op(matrix, rhs, l2_regularizer, fast=fast, name=name)
    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        return _by_shape(
            matrix,
            lambda: _overdetermined(matrix, rhs, l2_regularizer),
            lambda: _underdetermined(matrix, rhs, l2_regularizer),
        )


def _tall_gradient(node: Node, grad: Any, solve: Callable[[Any], Any]) -> tuple[Any, Any]:
    a, b, _ = node.inputs
    solved = solve(grad)
    product = matmul(node.outputs[0], solved, adjoint_b=True)
    symmetric = product + matrix_transpose(product)
    grad_a = -matmul(a, symmetric) + matmul(b, solved, adjoint_b=True)
    return grad_a, matmul(a, solved)


def _wide_gradient(node: Node, grad: Any, solve: Callable[[Any], Any]) -> tuple[Any, Any]:
    a, b, _ = node.inputs
    grad_b, solved = (solve(side()) for side in (lambda: matmul(a, grad), lambda: b))
    of_factor = -matmul(grad_b, matmul(solved, a, adjoint_a=True))
    residual = grad - matmul(a, grad_b, adjoint_a=True)
    return of_factor + matmul(solved, residual, adjoint_b=True), grad_b


def _gradients(node: Node, grad: Any, tall: bool) -> list[Any]:
    matrix, _, regularizer = node.inputs
    regularizer = cast(regularizer, matrix.dtype.base_dtype)
    solve = partial(cholesky_solve, _gramian_cholesky(matrix, regularizer, tall))
    return [*(_tall_gradient if tall else _wide_gradient)(node, grad, solve), None]


@matrix_solve_ls_op.gradient
def matrix_solve_ls_gradient(node: Node, grad: Any) -> Gradients:
    if node.fast is False:
        raise ValueError("Gradient not defined for fast=False")
    tall, wide = (partial(_gradients, node, grad, tall=tall) for tall in (True, False))
    return _by_shape(node.inputs[0], tall, wide)
