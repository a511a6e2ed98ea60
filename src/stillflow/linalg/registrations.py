"""Adjoints, inverses, ... of the operators here that keep the structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.linalg import algebra
from stillflow.linalg.algebra import (
    RegisterAdjoint,
    RegisterCholesky,
    RegisterInverse,
    RegisterMatmul,
    RegisterSolve,
)
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.linear_operator_adjoint import LinearOperatorAdjoint, LinearOperatorInversion
from stillflow.linalg.linear_operator_block_diag import LinearOperatorBlockDiag
from stillflow.linalg.linear_operator_circulant import LinearOperatorCirculant
from stillflow.linalg.linear_operator_composition import LinearOperatorComposition
from stillflow.linalg.linear_operator_diag import LinearOperatorDiag
from stillflow.linalg.linear_operator_full_matrix import LinearOperatorLowerTriangular
from stillflow.linalg.linear_operator_householder import LinearOperatorHouseholder
from stillflow.linalg.linear_operator_identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from stillflow.linalg.linear_operator_kronecker import LinearOperatorKronecker
from stillflow.linalg.linear_operator_zeros import LinearOperatorZeros
from stillflow.ops.linalg.decompositions import cholesky
from stillflow.ops.math.complex import conj
from stillflow.ops.math.unary import sqrt


def _hints(operator: Any, **changed: Any) -> dict[str, Any]:
    hints = {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": True,
    }
    return {**hints, **changed}


def _itself(operator: Any) -> Any:
    return operator


def _inner(operator: Any) -> Any:
    return operator.operator


# ---- adjoints


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.is_complex else x


@RegisterAdjoint(LinearOperator)
def _adjoint(operator: Any) -> LinearOperatorAdjoint:
    return LinearOperatorAdjoint(operator, **_hints(operator, is_square=operator.is_square))


@RegisterAdjoint(LinearOperatorScaledIdentity)
def _adjoint_scaled_identity(operator: Any) -> LinearOperatorScaledIdentity:
    multiplier = _conjugate(operator.multiplier)
    return LinearOperatorScaledIdentity(operator._num_rows, multiplier, **_hints(operator))


@RegisterAdjoint(LinearOperatorDiag)
def _adjoint_diag(operator: Any) -> LinearOperatorDiag:
    return LinearOperatorDiag(_conjugate(operator.diag), **_hints(operator))


@RegisterAdjoint(LinearOperatorCirculant)
def _adjoint_circulant(operator: Any) -> LinearOperatorCirculant:
    return LinearOperatorCirculant(_conjugate(operator.spectrum), **_hints(operator))


RegisterAdjoint(LinearOperatorAdjoint)(_inner)
RegisterAdjoint(LinearOperatorIdentity)(_itself)
RegisterAdjoint(LinearOperatorHouseholder)(_itself)


def _each(method: str, combination: type) -> Callable[[Any], Any]:
    """Return the same of each operator that a block diagonal or Kronecker product is made of."""

    def apply(operator: Any) -> Any:
        results = [getattr(part, method)() for part in operator.operators]
        if method == "cholesky":
            return combination(results, is_non_singular=True, is_self_adjoint=False, is_square=True)
        return combination(results, **_hints(operator))

    return apply


for _combination in (LinearOperatorBlockDiag, LinearOperatorKronecker):
    RegisterAdjoint(_combination)(_each("adjoint", _combination))
    RegisterCholesky(_combination)(_each("cholesky", _combination))
    RegisterInverse(_combination)(_each("inverse", _combination))


# ---- Cholesky factors

_POSITIVE: dict[str, Any] = {
    "is_non_singular": True,
    "is_self_adjoint": True,
    "is_positive_definite": True,
    "is_square": True,
}


@RegisterCholesky(LinearOperator)
def _cholesky(operator: Any) -> LinearOperatorLowerTriangular:
    return LinearOperatorLowerTriangular(
        cholesky(operator.to_dense()),
        is_non_singular=True,
        is_self_adjoint=False,
        is_square=True,
    )


@RegisterCholesky(LinearOperatorDiag)
def _cholesky_diag(operator: Any) -> LinearOperatorDiag:
    return LinearOperatorDiag(sqrt(operator.diag), **_POSITIVE)


@RegisterCholesky(LinearOperatorIdentity)
def _cholesky_identity(operator: Any) -> LinearOperatorIdentity:
    return LinearOperatorIdentity(
        num_rows=operator._num_rows,
        batch_shape=operator.batch_shape,
        dtype=operator.dtype,
        **_POSITIVE,
    )


@RegisterCholesky(LinearOperatorScaledIdentity)
def _cholesky_scaled_identity(operator: Any) -> LinearOperatorScaledIdentity:
    multiplier = sqrt(operator.multiplier)
    return LinearOperatorScaledIdentity(operator._num_rows, multiplier, **_POSITIVE)


# ---- inverses


@RegisterInverse(LinearOperator)
def _inverse(operator: Any) -> LinearOperatorInversion:
    return LinearOperatorInversion(operator, **_hints(operator, is_square=operator.is_square))


@RegisterInverse(LinearOperatorDiag)
def _inverse_diag(operator: Any) -> LinearOperatorDiag:
    return LinearOperatorDiag(1.0 / operator.diag, **_hints(operator))


@RegisterInverse(LinearOperatorScaledIdentity)
def _inverse_scaled_identity(operator: Any) -> LinearOperatorScaledIdentity:
    return LinearOperatorScaledIdentity(
        operator._num_rows, 1.0 / operator.multiplier, **_hints(operator, is_self_adjoint=True)
    )


@RegisterInverse(LinearOperatorCirculant)
def _inverse_circulant(operator: Any) -> LinearOperatorCirculant:
    return LinearOperatorCirculant(1.0 / operator.spectrum, **_hints(operator))


RegisterInverse(LinearOperatorInversion)(_inner)
RegisterInverse(LinearOperatorIdentity)(_itself)
RegisterInverse(LinearOperatorHouseholder)(_itself)


# ---- hints of products


def combined_commuting_self_adjoint_hint(operator_a: Any, operator_b: Any) -> bool | None:
    """Return True if the product of two operators that commute is self-adjoint."""
    hints = (operator_a.is_self_adjoint, operator_b.is_self_adjoint)
    if all(hints):
        return True
    return False if set(hints) == {True, False} else None


def is_square(operator_a: Any, operator_b: Any) -> Any:
    """Return True if the product of two operators is square."""
    square_a, square_b = operator_a.is_square, operator_b.is_square
    if square_a and square_b:
        return True
    if square_a is False and square_b is False:
        rows, columns = operator_a.range_dimension, operator_b.domain_dimension
        if rows is not None and columns is not None:
            return rows == columns
    if square_a != square_b and square_a is not None:
        return False
    return None


def combined_commuting_positive_definite_hint(operator_a: Any, operator_b: Any) -> bool | None:
    """Return True if the product of two operators that commute is positive definite."""
    hints = [
        (operator.is_positive_definite, operator.is_self_adjoint)
        for operator in (operator_a, operator_b)
    ]
    return True if hints == [(True, True)] * 2 else None


def combined_non_singular_hint(operator_a: Any, operator_b: Any) -> Any:
    """Return True if the product of two operators has an inverse."""
    if operator_a.is_non_singular is False or operator_b.is_non_singular is False:
        return False
    return operator_a.is_non_singular and operator_b.is_non_singular


def _product_hints(a: Any, b: Any) -> dict[str, Any]:
    return {
        "is_non_singular": combined_non_singular_hint(a, b),
        "is_self_adjoint": combined_commuting_self_adjoint_hint(a, b),
        "is_positive_definite": combined_commuting_positive_definite_hint(a, b),
        "is_square": True,
    }


def _composition_hints(a: Any, b: Any) -> dict[str, Any]:
    square = is_square(a, b)
    hints: dict[str, Any] = dict.fromkeys(
        ("is_non_singular", "is_self_adjoint", "is_positive_definite"),
        False if square is False else None,
    )
    if square:
        hints["is_non_singular"] = combined_non_singular_hint(a, b)
    return {**hints, "is_square": square}


# ---- products and solutions


@RegisterMatmul(LinearOperator, LinearOperator)
def _matmul(a: Any, b: Any) -> LinearOperatorComposition:
    return LinearOperatorComposition(operators=[a, b], **_composition_hints(a, b))


@RegisterSolve(LinearOperator, LinearOperator)
def _solve(a: Any, b: Any) -> LinearOperatorComposition:
    hints = _composition_hints(a, b)
    return LinearOperatorComposition(operators=[LinearOperatorInversion(a), b], **hints)


@RegisterSolve(LinearOperatorInversion, LinearOperator)
def _solve_inversion(a: Any, b: Any) -> Any:
    return a.operator.matmul(b)


def _zeros(zeros: Any, other: Any) -> Any:
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    return zeros


RegisterMatmul(LinearOperatorIdentity, LinearOperator)(lambda identity, other: other)
RegisterMatmul(LinearOperator, LinearOperatorIdentity)(lambda other, identity: other)
RegisterSolve(LinearOperatorIdentity, LinearOperator)(lambda identity, other: other)
RegisterMatmul(LinearOperatorZeros, LinearOperator)(_zeros)
RegisterMatmul(LinearOperator, LinearOperatorZeros)(lambda other, zeros: _zeros(zeros, other))


def _diagonals(kind: type, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator of `kind` for the result of `function` on both."""

    def apply(a: Any, b: Any) -> Any:
        return kind(function(a, b), **_product_hints(a, b))

    return apply


def _triangles(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> LinearOperatorLowerTriangular:
        hints = {**_product_hints(a, b), "is_positive_definite": None}
        return LinearOperatorLowerTriangular(function(a, b), **hints)

    return apply


_DIAG, _SCALED = LinearOperatorDiag, LinearOperatorScaledIdentity
_TRIL, _CIRCULANT = LinearOperatorLowerTriangular, LinearOperatorCirculant

for _register, _types, _function in (
    (RegisterMatmul, (_DIAG, _DIAG), lambda a, b: a.diag * b.diag),
    (RegisterMatmul, (_DIAG, _SCALED), lambda a, b: a.diag * b.multiplier),
    (RegisterMatmul, (_SCALED, _DIAG), lambda a, b: b.diag * a.multiplier),
    (RegisterSolve, (_DIAG, _DIAG), lambda a, b: b.diag / a.diag),
    (RegisterSolve, (_DIAG, _SCALED), lambda a, b: b.multiplier / a.diag),
    (RegisterSolve, (_SCALED, _DIAG), lambda a, b: b.diag / a.multiplier),
):
    _register(*_types)(_diagonals(_DIAG, _function))

RegisterMatmul(_CIRCULANT, _CIRCULANT)(_diagonals(_CIRCULANT, lambda a, b: a.spectrum * b.spectrum))
RegisterSolve(_CIRCULANT, _CIRCULANT)(_diagonals(_CIRCULANT, lambda a, b: b.spectrum / a.spectrum))
RegisterMatmul(_DIAG, _TRIL)(_triangles(lambda a, b: a.diag[..., None] * b.to_dense()))
RegisterMatmul(_TRIL, _DIAG)(_triangles(lambda a, b: a.to_dense() * b.diag))
RegisterSolve(_DIAG, _TRIL)(_triangles(lambda a, b: b.to_dense() / a.diag[..., None]))

algebra.registrations.provide(True)
