"""The identity, and multiples of it."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.size_checks import checked
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.broadcast import broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import no_op, with_dependencies
from stillflow.ops.debugging.comparisons import assert_equal, assert_positive
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.diagonal import matrix_diag_part, matrix_set_diag
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj, imag, real
from stillflow.ops.math.reductions import reduce_min
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import log


def broadcast_to_batch(operator: Any, x: Any) -> Tensor:
    """`x`, with zeros added that have the operator's batch shape if it brings dimensions in."""
    if operator._batch_shape_arg is None:
        return x
    special = operator.batch_shape.concatenate([1, 1])
    common = broadcast_static_shape(x.shape, special)
    if special.is_fully_defined():
        if common == x.shape:
            return x
        return x + fill.zeros(shape=special, dtype=operator.dtype)
    sizes = concat((operator.batch_shape_tensor(), [1, 1]), 0)
    return x + fill.zeros(shape=sizes, dtype=operator.dtype)


def smaller_side(operator: Any) -> int | None:
    """Return the static length of the diagonal."""
    sides = dimension_value(operator.domain_dimension), dimension_value(operator.range_dimension)
    return None if None in sides else min(sides)


def smaller_side_tensor(operator: Any) -> Any:
    """Return the length of the diagonal as a tensor."""
    return reduce_min(operator.shape_tensor()[-2:])


def diagonal_shape(operator: Any) -> TensorShape | Tensor:
    """Return the shape of the diagonals."""
    if operator.shape.is_fully_defined():
        return operator.batch_shape.concatenate([smaller_side(operator)])
    return concat([operator.batch_shape_tensor(), [smaller_side_tensor(operator)]], axis=0)


class _Identity(LinearOperator):
    """Base of both kinds of identity."""

    _assert_proper_shapes: bool

    def _set_rows(self, num_rows: Any) -> None:
        self._num_rows = operator_util.shape_tensor(num_rows, name="num_rows")
        self._num_rows_static = static_value(self._num_rows)
        self._num_rows = checked(
            self._num_rows, self._num_rows_static, "num_rows", 0, self._assert_proper_shapes
        )

    def _proper(self, x: Any) -> Tensor:
        """`x`, checked by the graph to fit if that was asked for."""
        if not self._assert_proper_shapes:
            return x
        return with_dependencies([operator_util.assert_compatible_matrix_dimensions(self, x)], x)

    def _ones_diag(self) -> Tensor:
        return fill.ones(shape=diagonal_shape(self), dtype=self.dtype)

    def _times_size(self, multiplier: Any) -> Tensor:
        known = self.batch_shape.is_fully_defined()
        batch = self.batch_shape if known else self.batch_shape_tensor()
        ones = fill.ones(shape=batch, dtype=self.dtype)
        size: Any = smaller_side(self)
        if size is None:
            size = cast(smaller_side_tensor(self), self.dtype)
        return size * ones if multiplier is None else multiplier * size * ones

    def _add_to_diagonal(self, mat: Any, name: str, value: Any) -> Tensor:
        with self._name_scope(name):
            value = value()
            mat = convert_to_tensor(mat, name="mat")
            return matrix_set_diag(mat, value + matrix_diag_part(mat))


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_Identity):
    """A batch of identity matrices.

    Args:
      num_rows: how many rows and columns.
      batch_shape: by default `[]`.
      dtype: of the operands, float32 by default.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: must all be true.
      assert_proper_shapes: whether the graph checks sizes.
      name: of the operator.

    Raises:
      TypeError: if sizes are no integers or variables.
      ValueError: if sizes are negative or of a wrong rank, or a hint is false.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        dtype = dtypes.as_dtype(dtype or dtypes.float32)
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for hint, word in (
                (is_self_adjoint, "self adjoint"),
                (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"),
                (is_square, "square"),
            ):
                if not hint:
                    raise ValueError(f"An identity operator is always {word}.")
            super().__init__(
                dtype=dtype,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            operator_util.assert_not_ref_type(num_rows, "num_rows")
            operator_util.assert_not_ref_type(batch_shape, "batch_shape")
            self._set_rows(num_rows)
            self._batch_shape_arg = None
            if batch_shape is not None:
                batch = operator_util.shape_tensor(batch_shape, name="batch_shape_arg")
                self._batch_shape_static = static_value(batch)
                self._batch_shape_arg = checked(
                    batch, self._batch_shape_static, "batch_shape", 1, assert_proper_shapes
                )

    def _shape(self) -> TensorShape:
        matrix = TensorShape((self._num_rows_static, self._num_rows_static))
        if self._batch_shape_arg is None:
            return matrix
        return TensorShape(self._batch_shape_static).concatenate(matrix)

    def _shape_tensor(self) -> Any:
        matrix = stack((self._num_rows, self._num_rows), axis=0)
        if self._batch_shape_arg is None:
            return matrix
        return concat((self._batch_shape_arg, matrix), 0)

    def _assert_non_singular(self) -> Any:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return broadcast_to_batch(self, self._proper(x))

    def _determinant(self) -> Tensor:
        return fill.ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return fill.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _trace(self) -> Tensor:
        return self._times_size(None)

    def _diag_part(self) -> Tensor:
        return self._ones_diag()

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum with matrices."""
        return self._add_to_diagonal(mat, name, lambda: 1)


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(_Identity):
    """A batch of identity matrices times numbers.

    Args:
      num_rows: how many rows and columns.
      multiplier: the numbers, of the batch's shape.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      assert_proper_shapes: whether the graph checks sizes.
      name: of the operator.

    Raises:
      TypeError: if `num_rows` is no integer or a variable.
      ValueError: if it is negative or no scalar, or hints cannot be.
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            factor = operator_util.convert_nonref_to_tensor(multiplier, name="multiplier")
            self._multiplier = factor
            self_adjoint = operator_util.self_adjoint_if_real(factor, is_self_adjoint)
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            operator_util.assert_not_ref_type(num_rows, "num_rows")
            hints = is_non_singular, self_adjoint, is_positive_definite, is_square
            super().__init__(factor.dtype, None, *hints, name=name)
            self._set_rows(num_rows)
            self._num_rows_cast_to_dtype, self._num_rows_cast_to_real_dtype = (
                cast(self._num_rows, kind) for kind in (self.dtype, self.dtype.real_dtype)
            )

    @property
    def multiplier(self) -> Any:
        """The numbers on the diagonals."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        matrix = TensorShape((self._num_rows_static, self._num_rows_static))
        return self.multiplier.shape.concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        matrix = stack((self._num_rows, self._num_rows), axis=0)
        return concat((shape(self.multiplier), matrix), 0)

    def _assert_non_singular(self) -> Operation:
        return assert_positive(abs_(self.multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Any:
        return assert_positive(
            real(self.multiplier), message="LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        imaginary = imag(self.multiplier)
        return assert_equal(
            fill.zeros_like(imaginary), imaginary, message="LinearOperator was not self-adjoint"
        )

    def _multiplier_matrix(self, conjugate: bool) -> Tensor:
        matrix = expand_dims(expand_dims(self.multiplier, -1), -1)
        return conj(matrix) if conjugate else matrix

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._proper(x) * self._multiplier_matrix(conjugate=adjoint)

    def _determinant(self) -> Tensor:
        return self.multiplier**self._num_rows_cast_to_dtype

    def _log_abs_determinant(self) -> Tensor:
        return self._num_rows_cast_to_real_dtype * log(abs_(self.multiplier))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._proper(rhs) / self._multiplier_matrix(conjugate=adjoint)

    def _trace(self) -> Tensor:
        return self._times_size(self.multiplier)

    def _diag_part(self) -> Tensor:
        return self._ones_diag() * self.multiplier[..., newaxis]

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum with matrices."""
        return self._add_to_diagonal(mat, name, lambda: expand_dims(self.multiplier, -1))
