"""Matrices with constant diagonals."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.linear_operator_circulant import LinearOperatorCirculant
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros_like
from stillflow.ops.arrays.reverse import reverse
from stillflow.ops.arrays.shape import shape
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.math.cast import cast
from stillflow.ops.signal.fourier import fft


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """A batch of square Toeplitz matrices, applied as parts of circulant ones twice their size.

    Args:
      col: `[..., N]`, the first columns.
      row: `[..., N]`, the first rows; their first element is not looked at.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: if the sizes differ, for scalars, or `is_square=False`.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        with name_scope(name, values=[row, col]):
            self._row: Any = convert_to_tensor(row, name="row")
            self._col: Any = convert_to_tensor(col, name="col")
            self._check(self._row, self._col)
            parts = [
                self._col,
                zeros_like(self._col[..., 0:1]),
                reverse(self._row[..., 1:], axis=[-1]),
            ]
            column = concat(parts, axis=-1)
            spectrum = fft(_to_complex(column))
            self._circulant = LinearOperatorCirculant(spectrum, input_output_dtype=self._row.dtype)
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(
                dtype=self._row.dtype,
                graph_parents=[self._row, self._col],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    def _check(self, row: Any, col: Any) -> None:
        operator_util.assert_rank_at_least(1, row, "row")
        operator_util.assert_rank_at_least(1, col, "col")
        if row.shape[-1] != col.shape[-1]:
            raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        vector = broadcast_static_shape(self.row.shape, self.col.shape)
        return vector.concatenate(vector[-1:])

    def _shape_tensor(self) -> Any:
        vector = broadcast_dynamic_shape(shape(self.row), shape(self.col))
        return concat((vector, [vector[-1]]), 0)

    def _assert_self_adjoint(self) -> Any:
        return assert_equal(
            self.row,
            self.col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        vectors = adjoint_of(x) if adjoint_arg else x
        padded = concat([vectors, zeros_like(vectors)], axis=-2)
        product = self._circulant.matmul(padded, adjoint=adjoint)
        rows: Any = self.domain_dimension_tensor()
        return cast(product[..., :rows, :], self.dtype)

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), dtype=self.dtype) * self.col[..., 0]

    def _diag_part(self) -> Tensor:
        entry = self.col[..., 0:1]
        return entry * ones([self.domain_dimension_tensor()], self.dtype)


def _to_complex(x: Any) -> Tensor:
    double = x.dtype in (dtypes.float64, dtypes.complex128)
    return cast(x, dtypes.complex128 if double else dtypes.complex64)
