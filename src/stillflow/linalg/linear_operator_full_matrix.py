"""Matrices written out, and triangular ones."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays.shape import shape
from stillflow.ops.linalg.bands import matrix_band_part
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.diagonal import matrix_diag_part
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.reductions import reduce_prod, reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import log


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A batch of matrices without structure.

    Args:
      matrix: `[..., M, N]`, real or complex.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      TypeError: for other types.
      ValueError: for fewer than two dimensions.
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            own = self._matrix = operator_util.convert_nonref_to_tensor(matrix, name="matrix")
            dense = convert_to_tensor(own, name="matrix")
            allowed = [
                dtypes.float16,
                dtypes.float32,
                dtypes.float64,
                dtypes.complex64,
                dtypes.complex128,
            ]
            if dense.dtype not in allowed:
                raise TypeError(
                    f"Argument matrix must have dtype in {allowed}.  Found: {dense.dtype}"
                )
            operator_util.assert_rank_at_least(2, dense, "matrix")
            hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
            super().__init__(own.dtype, [own], *hints, name=name)

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Any:
        return shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A batch of square lower-triangular matrices.

    Args:
      tril: `[..., N, N]`; what is above the diagonal is not looked at.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: for fewer than two dimensions or `is_square=False`.
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._tril = operator_util.convert_nonref_to_tensor(tril, name="tril")
            operator_util.assert_rank_at_least(2, self._tril, "tril")
            super().__init__(
                dtype=self._tril.dtype,
                graph_parents=[self._tril],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    def _get_tril(self) -> Tensor:
        return matrix_band_part(self._tril, -1, 0)

    def _get_diag(self) -> Tensor:
        return matrix_diag_part(self._tril)

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _assert_non_singular(self) -> Operation:
        return operator_util.assert_no_entries_with_modulus_zero(
            self._get_diag(), message="Singular operator:  Diagonal contained zero values."
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._get_tril(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._get_diag(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(abs_(self._get_diag())), axis=[-1])

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return operator_util.matrix_triangular_solve_with_broadcast(
            self._get_tril(), rhs, lower=True, adjoint=adjoint
        )

    def _to_dense(self) -> Tensor:
        return self._get_tril()
