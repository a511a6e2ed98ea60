"""Matrices of zeros."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.linear_operator_identity import broadcast_to_batch, diagonal_shape
from stillflow.linalg.size_checks import checked
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import no_op, with_dependencies
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(LinearOperator):
    """A batch of matrices of zeros.

    Args:
      num_rows: how many rows.
      num_columns: how many columns, by default as many.
      batch_shape: by default `[]`.
      dtype: of the operands, float32 by default.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      assert_proper_shapes: whether the graph checks sizes.
      name: of the operator.

    Raises:
      TypeError: if sizes are no integers or variables.
      ValueError: if sizes are negative or of a wrong rank, or hints cannot be.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        dtype = dtypes.as_dtype(dtype or dtypes.float32)
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for refused, word in (
                (not is_self_adjoint and is_square, "self adjoint"),
                (is_non_singular, "singular"),
                (is_positive_definite, "not positive-definite"),
            ):
                if refused:
                    raise ValueError(f"A zero operator is always {word}.")
            super().__init__(
                dtype=dtype,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            operator_util.assert_not_ref_type(num_rows, "num_rows")
            operator_util.assert_not_ref_type(num_columns, "num_columns")
            operator_util.assert_not_ref_type(batch_shape, "batch_shape")
            self._set_sizes(num_rows, num_rows if num_columns is None else num_columns)
            rows, columns = self._num_rows_static, self._num_columns_static
            if is_square and rows is not None and columns is not None and rows != columns:
                raise ValueError(
                    "LinearOperatorZeros initialized as is_square=True, but got "
                    f"num_rows({rows}) != num_columns({columns})"
                )
            self._set_batch_shape(batch_shape)

    def _set_sizes(self, num_rows: Any, num_columns: Any) -> None:
        proper = self._assert_proper_shapes
        rows = operator_util.shape_tensor(num_rows, name="num_rows")
        self._num_rows_static = static_value(rows)
        columns = operator_util.shape_tensor(num_columns, name="num_columns")
        self._num_columns_static = static_value(columns)
        self._num_rows = checked(rows, self._num_rows_static, "num_rows", 0, proper)
        self._num_columns = checked(columns, self._num_columns_static, "num_columns", 0, proper)

    def _set_batch_shape(self, batch_shape: Any) -> None:
        self._batch_shape_arg = None
        if batch_shape is None:
            return
        batch = operator_util.shape_tensor(batch_shape, name="batch_shape_arg")
        self._batch_shape_static = static_value(batch)
        self._batch_shape_arg = checked(
            batch, self._batch_shape_static, "batch_shape", 1, self._assert_proper_shapes
        )

    def _shape(self) -> TensorShape:
        matrix = TensorShape((self._num_rows_static, self._num_columns_static))
        if self._batch_shape_arg is None:
            return matrix
        return TensorShape(self._batch_shape_static).concatenate(matrix)

    def _shape_tensor(self) -> Any:
        matrix = stack((self._num_rows, self._num_columns), axis=0)
        if self._batch_shape_arg is None:
            return matrix
        return concat((self._batch_shape_arg, matrix), 0)

    def _assert_non_singular(self) -> Any:
        raise errors.invalid_argument("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise errors.invalid_argument("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._assert_proper_shapes:
            x = adjoint_of(x) if adjoint_arg else x
            check = operator_util.assert_compatible_matrix_dimensions(self, x)
            x = with_dependencies([check], x)
        if self.is_square:
            if adjoint_arg:
                batch = shape(x)[:-2]
                sides = [shape(x)[-1], shape(x)[-2]]
                sizes = concat([batch, sides], axis=0)
            else:
                sizes = shape(x)
            return broadcast_to_batch(self, zeros(shape=sizes, dtype=x.dtype))
        given = shape(x)
        rows = self._num_columns if adjoint else self._num_rows
        columns = given[-2] if adjoint_arg else given[-1]
        sizes = concat([given[:-2], [rows, columns]], axis=0)
        return broadcast_to_batch(self, zeros(shape=sizes, dtype=x.dtype))

    def _zeros_of_batch(self) -> Any:
        known = self.batch_shape.is_fully_defined()
        batch = self.batch_shape if known else self.batch_shape_tensor()
        return zeros(shape=batch, dtype=self.dtype)

    def _determinant(self) -> Any:
        return self._zeros_of_batch()

    def _trace(self) -> Any:
        return self._zeros_of_batch()

    def _diag_part(self) -> Any:
        return zeros(shape=diagonal_shape(self), dtype=self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum with matrices."""
        return broadcast_to_batch(self, mat)
