"""Matrix functions for operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.ops.dispatch import NOT_SUPPORTED, register
from stillflow.ops.linalg import decompositions, diagonal, matmul, solvers


def _adjoint(matrix: Any, name: str | None = None) -> Any:
    return matrix.adjoint(name)


def _cholesky(input: Any, name: str | None = None) -> Any:
    return input.cholesky(name)


def _diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Any:
    return input.diag_part(name)


def _det(input: Any, name: str | None = None) -> Any:
    return input.determinant(name)


def _inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    inverse = input.inverse(name)
    return inverse.adjoint() if adjoint else inverse


def _logdet(matrix: Any, name: str | None = None) -> Any:
    if matrix.is_positive_definite and matrix.is_self_adjoint:
        return matrix.log_abs_determinant(name)
    raise ValueError("Expected matrix to be self-adjoint positive definite.")


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if hasattr(a, "matmul"):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    product = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name)
    return decompositions.adjoint(product)


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not hasattr(matrix, "solve"):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
        )
    return matrix.solve(rhs, adjoint=adjoint, name=name)


def _trace(x: Any, name: str | None = None) -> Any:
    return x.trace(name)


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    decompositions.adjoint_public: _adjoint,
    decompositions.cholesky: _cholesky,
    decompositions.logdet: _logdet,
    decompositions.matrix_determinant: _det,
    decompositions.matrix_inverse: _inv,
    diagonal.matrix_diag_part: _diag_part,
    matmul.matmul: _matmul,
    matmul.trace: _trace,
    solvers.matrix_solve: _solve,
}


def register_operators(kind: type) -> None:
    """Make the functions of matrices in `tf.linalg` take operators, objects of class `kind`."""
    for public, function in _FUNCTIONS.items():
        register(public, _handler(function, kind))


def _handler(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not any(isinstance(value, kind) for value in (*args, *kwargs.values())):
            return NOT_SUPPORTED
        return function(*args, **kwargs)

    return handler
