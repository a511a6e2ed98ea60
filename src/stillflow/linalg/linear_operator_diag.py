"""Diagonal matrices."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.debugging.comparisons import assert_positive
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj, real
from stillflow.ops.math.reductions import reduce_prod, reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import log


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A batch of square diagonal matrices.

    Args:
      diag: `[..., N]`, the diagonals.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: for a scalar, or hints that cannot be.
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._diag = operator_util.convert_nonref_to_tensor(diag, name="diag")
            operator_util.assert_rank_at_least(1, self._diag, "diag")
            is_self_adjoint = operator_util.self_adjoint_if_real(self._diag, is_self_adjoint)
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(
                dtype=self._diag.dtype,
                graph_parents=[self._diag],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._diag)
        return concat((sizes, [sizes[-1]]), 0)

    def _assert_non_singular(self) -> Operation:
        return operator_util.assert_no_entries_with_modulus_zero(
            self._diag, message="Singular operator:  Diagonal contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        message = (
            "Diagonal operator had diagonal entries with non-positive real part, thus was not "
            "positive definite."
            if self.dtype.is_complex
            else "Real diagonal operator had non-positive diagonal entries, thus was not positive "
            "definite."
        )
        return assert_positive(real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Any:
        return operator_util.assert_zero_imag_part(
            self._diag,
            message="This diagonal operator contained non-zero imaginary values.   Thus it was not "
            "self-adjoint.",
        )

    def _entries(self, adjoint: bool) -> Any:
        return conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        entries = self._entries(adjoint)
        x = adjoint_of(x) if adjoint_arg else x
        return expand_dims(entries, -1) * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return self._entries(adjoint) * x

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        result = reduce_sum(log(abs_(self._diag)), axis=[-1])
        return cast(result, dtype=self.dtype) if self.dtype.is_complex else result

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        entries = self._entries(adjoint)
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / entries, -1)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self.diag

    def _add_to_tensor(self, x: Any) -> Tensor:
        return matrix_set_diag(x, self._diag + matrix_diag_part(x))
