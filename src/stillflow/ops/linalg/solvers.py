"""Systems of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.linalg.bands import matrix_band_part
from stillflow.ops.linalg.decompositions import (
    check_invertible,
    check_pivots,
    cholesky_factor,
    in_float32,
)
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.linalg.operands import scalar_words, square_system, system
from stillflow.ops.samples import Bad, Sample, Samples

_FIELD = "T: {double, float, half, complex64, complex128}"
_A = np.array([[[2.0, 0.0], [1.0, 3.0]]] * 2)
_B = np.array([[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]] * 2)


def solve_shape(node: Node) -> tuple[int | None, ...] | None:
    """Return a square matrix, and right-hand sides of as many rows, in equal batches."""
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    rhs = dims.with_rank_at_least(node.dims(1), 2)
    known = matrix or rhs
    if known is None:
        return None
    # Unknown sizes of one come from the other.
    matrix = matrix or (*known[:-2], None, None)
    rhs = rhs or (*known[:-2], None, None)
    size = dims.merge_dim(matrix[-2], matrix[-1])
    batch = dims.merge(matrix[:-2], rhs[:-2])
    assert batch is not None
    return (*batch, dims.merge_dim(size, rhs[-2]), rhs[-1])


matrix_solve_op = op(
    f"MatrixSolve(matrix: T, rhs: T) -> output: T\nadjoint: bool = false\n{_FIELD}",
    apple="none",
    cost=Cost("matrices"),
)
matrix_solve_op.shape(solve_shape)
matrix_solve_op.check(square_system)


@matrix_solve_op.kernel
def matrix_solve_kernel(node: Node) -> Kernel:
    transposed = node.adjoint

    def solve(matrix: Any, rhs: Any) -> torch.Tensor:
        matrix = matrix.mH if transposed else matrix
        result, info = torch.linalg.solve_ex(matrix, rhs)
        check_invertible(info, result.numel(), "Input matrix")
        check_pivots(matrix, result, "Input matrix")
        return result.contiguous()

    return in_float32(solve)


def _system_gradient(node: Node, grad_b: Any) -> Tensor:
    solution = node.outputs[0]
    left, right = (solution, grad_b) if node.adjoint else (grad_b, solution)
    return -matmul(left, right, adjoint_b=True)


@matrix_solve_op.gradient
def matrix_solve_gradient(node: Node, grad: Tensor) -> Gradients:
    grad_b = matrix_solve(node.inputs[0], grad, adjoint=not node.adjoint)
    return [_system_gradient(node, grad_b), grad_b]


@matrix_solve_op.samples
def matrix_solve_samples() -> Samples:
    yield Sample(_A, _B)
    yield Sample(_A, _B, adjoint=True)
    yield Bad(_A, _B[:, :1], match="Dimensions must be equal")


matrix_triangular_solve_op = op(
    "MatrixTriangularSolve(matrix: T, rhs: T) -> output: T\n"
    f"lower: bool = true\nadjoint: bool = false\n{_FIELD}",
    apple="none",
    cost=Cost("matrices"),
)
matrix_triangular_solve_op.shape(solve_shape)
matrix_triangular_solve_op.check(square_system)


@matrix_triangular_solve_op.kernel
def matrix_triangular_solve_kernel(node: Node) -> Kernel:
    lower, transposed = node.lower, node.adjoint

    def solve(matrix: Any, rhs: Any) -> torch.Tensor:
        zeros = matrix.diagonal(dim1=-2, dim2=-1) == 0
        check_invertible(zeros, rhs.numel(), "Input matrix")
        if rhs.numel():
            first = matrix[..., 0, 0].isnan()
            check_invertible(first, rhs.numel(), "Input matrix")
        # Transposed, as LAPACK has matrices: nothing is copied.
        matrix = matrix.conj().resolve_conj() if transposed else matrix.mT
        upper = lower != transposed
        found = torch.linalg.solve_triangular(matrix, rhs.mT, upper=upper, left=False)
        return found.mT.contiguous()

    return in_float32(solve)


@matrix_triangular_solve_op.gradient
def matrix_triangular_solve_gradient(node: Node, grad: Tensor) -> Gradients:
    grad_b = matrix_triangular_solve(
        node.inputs[0], grad, lower=node.lower, adjoint=not node.adjoint
    )
    grad_a = _system_gradient(node, grad_b)
    band = (-1, 0) if node.lower else (0, -1)
    return [matrix_band_part(grad_a, *band), grad_b]


@matrix_triangular_solve_op.samples
def matrix_triangular_solve_samples() -> Samples:
    for adjoint in (False, True):
        yield Sample(_A, _B, adjoint=adjoint)
        yield Sample(_A, _B, lower=False, adjoint=adjoint)


matrix_solve_ls_op = op(
    "MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> output: T\n"
    f"{_FIELD}\nfast: bool = true",
    apple="none",
    cost=Cost("matrices"),
)


@matrix_solve_ls_op.check
def matrix_solve_ls_check(node: Node) -> None:
    system(node)
    scalar_words(node, 2, "l2_regularizer")


@matrix_solve_ls_op.shape
def matrix_solve_ls_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(2), 0)
    matrix = dims.with_rank_at_least(node.dims(0), 2)
    rhs = dims.with_rank_at_least(node.dims(1), 2)
    if matrix is None or rhs is None:
        return None
    batch = dims.merge(matrix[:-2], rhs[:-2])
    assert batch is not None
    dims.merge_dim(matrix[-2], rhs[-2])
    return (*batch, matrix[-1], rhs[-1])


_ILL_CONDITIONED = (
    "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide "
    "{} l2_regularizer > 0."
)


@matrix_solve_ls_op.kernel
def matrix_solve_ls_kernel(node: Node) -> Kernel:
    fast = node.fast

    def solve(matrix: Any, rhs: Any, l2: Any) -> torch.Tensor:
        if not bool(l2 >= 0) and rhs.shape[:-2].numel():
            raise errors.invalid_argument("l2_regularizer must be >= 0.")
        if not matrix.numel():
            return matrix.mT @ rhs
        if fast:
            return _by_normal_equations(matrix, rhs, l2)
        odd = ~matrix.isfinite().flatten(-2).all(-1)[..., None, None]
        solution = torch.linalg.pinv(matrix.masked_fill(odd, 0)) @ rhs
        return solution.masked_fill(odd, float("nan"))

    return in_float32(solve)


def _by_normal_equations(matrix: Any, rhs: Any, l2: Any) -> torch.Tensor:
    rows, columns = matrix.shape[-2:]
    adjoint = matrix.mH
    over = rows >= columns
    gram = adjoint @ matrix if over else matrix @ adjoint
    identity = torch.eye(gram.shape[-1], dtype=matrix.dtype, device=matrix.device)
    if bool(l2 > 0):
        gram = gram + l2.to(matrix.dtype) * identity
    factor = cholesky_factor(gram, _ILL_CONDITIONED.format("a larger" if over else "an"))
    if over:
        return torch.cholesky_solve(adjoint @ rhs, factor)
    return adjoint @ torch.cholesky_solve(rhs, factor)


@matrix_solve_ls_op.samples
def matrix_solve_ls_samples() -> Samples:
    yield Sample(_A, _B, 0.5, grad=False)
    yield Sample(_A, _B, 0.0, fast=False, grad=False)
    yield Bad(_A, _B, -0.5, match="l2_regularizer must be >= 0.")


@export("linalg.solve", "matrix_solve")
@dispatchable
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solves `matrix @ x = rhs`, or with the adjoint of `matrix`.

    Args:
      matrix: `[..., n, n]`.
      rhs: `[..., n, k]`.
    """
    result: Tensor = matrix_solve_op(matrix, rhs, adjoint=adjoint, name=name)
    return result


@export("linalg.triangular_solve", "matrix_triangular_solve")
def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves triangular systems; the other triangle of `matrix` is not looked at."""
    result: Tensor = matrix_triangular_solve_op(
        matrix, rhs, lower=lower, adjoint=adjoint, name=name
    )
    return result


@export("linalg.cholesky_solve", "cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Solves `A @ x = rhs` given the Cholesky factor of A."""
    from stillflow.graph.api import name_scope

    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = matrix_triangular_solve_op(chol, rhs, adjoint=False, lower=True)
        result: Tensor = matrix_triangular_solve_op(chol, y, adjoint=True, lower=True)
        return result
