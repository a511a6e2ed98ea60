"""Operations of old graphs that today's have taken the place of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.traits import Cost
from stillflow.ops.linalg.bands import matrix_band_part_op
from stillflow.ops.linalg.decompositions import (
    cholesky_op,
    in_float32,
    matrix_determinant_op,
    matrix_inverse_op,
    self_adjoint_eig_v2_op,
    square_shape,
    svd_op,
)
from stillflow.ops.linalg.operands import factor_and_gradient, square_matrix
from stillflow.ops.linalg.solvers import (
    matrix_solve_ls_op,
    matrix_solve_op,
    matrix_triangular_solve_op,
)
from stillflow.ops.samples import Sample, Samples

_REAL = "T: {double, float}"
_COMPLEX = "T: {float, double, complex64, complex128}"

# The signature of an old op, and the card that computes it.
_SAME: tuple[tuple[str, Card], ...] = (
    (f"BatchCholesky(input: T) -> output: T\n{_REAL}", cholesky_op),
    (f"BatchMatrixDeterminant(input: T) -> output: T\n{_COMPLEX}", matrix_determinant_op),
    (
        f"BatchMatrixInverse(input: T) -> output: T\nadjoint: bool = false\n{_REAL}",
        matrix_inverse_op,
    ),
    (
        f"BatchMatrixSolve(matrix: T, rhs: T) -> output: T\nadjoint: bool = false\n{_REAL}",
        matrix_solve_op,
    ),
    (
        (
            "BatchMatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> output: T\n"
            f"{_REAL}\nfast: bool = true"
        ),
        matrix_solve_ls_op,
    ),
    (
        (
            "BatchMatrixTriangularSolve(matrix: T, rhs: T) -> output: T\nlower: bool = true\n"
            f"adjoint: bool = false\n{_REAL}"
        ),
        matrix_triangular_solve_op,
    ),
    (
        f"BatchSelfAdjointEigV2(input: T) -> (e: T, v: T)\ncompute_v: bool = true\n{_REAL}",
        self_adjoint_eig_v2_op,
    ),
    (
        (
            "BatchSvd(input: T) -> (s: T, u: T, v: T)\ncompute_uv: bool = true\n"
            f"full_matrices: bool = false\n{_COMPLEX}"
        ),
        svd_op,
    ),
    (
        "BatchMatrixBandPart(input: T, num_lower: int64, num_upper: int64) -> band: T\nT: type",
        matrix_band_part_op,
    ),
)


def _old_card(text: str, today: Card) -> Card:
    card = op(text, view=today.view, apple=today.apple, numbers=today.numbers)
    assert today.shape_part is not None and today.kernel_part is not None
    card.shape(today.shape_part)
    card.kernel(today.kernel_part)
    if today.check_part is not None:
        card.check(today.check_part)
    card.samples(_without_gradients(today))
    return card


def _without_gradients(card: Card) -> Callable[[], Any]:
    def samples() -> Samples:
        assert card.samples_part is not None
        for sample in card.samples_part():
            if isinstance(sample, Sample):
                sample.grad = False
            yield sample

    return samples


for _text, _today in _SAME:
    _old_card(_text, _today)


# ---- gradients of Cholesky factors as one op


def _cholesky_gradient(factor: Any, grad: Any) -> torch.Tensor:
    lower = factor.tril()
    middle = (lower.mT @ grad.tril()).tril()
    middle = middle - 0.5 * torch.diag_embed(middle.diagonal(dim1=-2, dim2=-1))
    left = torch.linalg.solve_triangular(lower.mT, middle, upper=True)
    result = torch.linalg.solve_triangular(lower, left, upper=False, left=False)
    return (0.5 * (result + result.mT)).contiguous()


def _cholesky_gradient_samples() -> Samples:
    factor = np.array([[2.0, 0.0], [0.5, 1.0]])
    yield Sample(factor, np.array([[1.0, 0.0], [2.0, -1.0]]), grad=False)


for _name, _types in (
    ("CholeskyGrad", "{half, float, double}"),
    ("BatchCholeskyGrad", "{float, double}"),
):
    _card = op(f"{_name}(l: T, grad: T) -> output: T\nT: {_types}", apple="none")
    _card.shape(square_shape)
    _card.check(factor_and_gradient)
    _card.kernel(lambda node: in_float32(_cholesky_gradient))
    _card.samples(_cholesky_gradient_samples)


# ---- eigenvalues above eigenvectors


def _stacked_eigenvalues(matrix: Any) -> torch.Tensor:
    values, vectors = torch.linalg.eigh(matrix)
    return torch.cat([values.unsqueeze(-2), vectors], -2)


def _stacked_shape(node: Node) -> Any:
    matrix = square_shape(node)
    if matrix is None:
        return None
    return (*matrix[:-2], dims.add(matrix[-2], 1), matrix[-1])


def _symmetric_samples() -> Samples:
    yield Sample(np.array([[2.0, 1.0], [1.0, 5.0]]), grad=False)


for _name, _types in (
    ("SelfAdjointEig", "{double, float, half}"),
    ("BatchSelfAdjointEig", "{double, float}"),
):
    _card = op(f"{_name}(input: T) -> output: T\nT: {_types}", cost=Cost("matrices"))
    _card.shape(_stacked_shape)
    _card.check(square_matrix)
    _card.kernel(lambda node: in_float32(_stacked_eigenvalues))
    _card.samples(_symmetric_samples)
