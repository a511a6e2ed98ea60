"""Kronecker products of operators."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like, zeros
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.arrays.transpose import matrix_transpose, transpose
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.debugging.types import assert_proper_iterable
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.math.cast import cast

_HINTS = (
    ("is_non_singular", "non-singular"),
    ("is_self_adjoint", "self-adjoint"),
    ("is_positive_definite", "positive-definite"),
)


def _columns_joined(x: Any) -> Tensor:
    """Each matrix as a vector, column after column."""
    transposed = matrix_transpose(x)
    return reshape(transposed, concat([shape(x)[:-2], [-1]], axis=0))


def _columns_of(x: Any, count: Any) -> Tensor:
    """Each vector cut into `count` columns."""
    cut = reshape(x, concat([shape(x)[:-1], [count, -1]], axis=0))
    return matrix_transpose(cut)


def _rotate(x: Any, last_to_front: bool) -> Tensor:
    """Move the last dimension to the front, or the first to the end."""
    rank = rank_of(x)
    parts = [[rank - 1], range_(0, rank - 1)] if last_to_front else [range_(1, rank), [0]]
    return transpose(x, concat(parts, axis=0))


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators.

    Args:
      operators: operators of one type.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator; by default the operators' names joined by "_x_".

    Raises:
      TypeError: if the types differ.
      ValueError: if there are no operators, or hints cannot be.
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        assert_proper_iterable(operators)
        operators = list(operators)
        if not operators:
            raise ValueError(f"Expected a list of >=1 operators. Found: {operators}")
        self._operators = operators
        dtype = operator_util.common_dtype(operators)
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        for hint, word in _HINTS:
            message = f"The Kronecker product of {word} operators is always {word}."
            hints[hint] = operator_util.implied(operators, hint, hints[hint], message)
        parents = operator_util.graph_parents(operators)
        if name is None:
            name = "_x_".join(operator.name for operator in operators)
        with name_scope(name, values=parents):
            super().__init__(
                dtype=dtype, graph_parents=parents, is_square=is_square, name=name, **hints
            )

    @property
    def operators(self) -> list[Any]:
        """The factors."""
        return self._operators

    def _shape(self) -> TensorShape:
        first, *others = self.operators
        columns, rows = first.domain_dimension, first.range_dimension
        for operator in others:
            columns *= operator.domain_dimension
            rows *= operator.range_dimension
        batch = operator_util.broadcast_batch_shape(self.operators)
        return batch.concatenate(TensorShape([rows, columns]))

    def _shape_tensor(self) -> Any:
        first, *others = self.operators
        columns = first.domain_dimension_tensor()
        for operator in others:
            columns *= operator.domain_dimension_tensor()
        rows = first.range_dimension_tensor()
        for operator in others:
            rows *= operator.range_dimension_tensor()
        batch = first.batch_shape_tensor()
        for operator in others:
            batch = broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
        return concat((batch, [rows, columns]), 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._factor_by_factor("matmul", "matvec", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._factor_by_factor("solve", "solvevec", rhs, adjoint, adjoint_arg)

    def _factor_by_factor(
        self, method: str, vector_method: str, x: Any, adjoint: bool, adjoint_arg: bool
    ) -> Tensor:
        """Apply each factor to its share of the rows, which then become columns."""
        if adjoint_arg:
            x = adjoint_of(x)
        batch = concat([ones_like(self.batch_shape_tensor()), [1, 1]], 0)
        x += zeros(batch, dtype=x.dtype.base_dtype)
        output = _rotate(x, last_to_front=True)[newaxis, ...]
        for operator in self.operators[:-1]:
            size = (
                operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
            )
            output = matrix_transpose(_columns_of(output, size))
            output = getattr(operator, method)(output, adjoint=adjoint, adjoint_arg=False)
            output = matrix_transpose(output)
            output = _columns_joined(_rotate(output, last_to_front=False))
            output = _rotate(output, last_to_front=True)
        output = getattr(self.operators[-1], vector_method)(output, adjoint=adjoint)
        output = _columns_joined(_rotate(output, last_to_front=False))
        output = _rotate(output, last_to_front=False)
        if x.shape.is_fully_defined():
            batch_shape = broadcast_static_shape(x.shape[:-2], self.batch_shape)
            rows = self.domain_dimension if adjoint else self.range_dimension
            output.set_shape(batch_shape.concatenate([rows, x.shape[-1]]))
        return output

    def _share(self, total: Any, operator: Any) -> Tensor:
        return cast(total / operator.domain_dimension_tensor(), dtype=operator.dtype)

    def _determinant(self) -> Tensor:
        total = self.domain_dimension_tensor()
        result: Any = 1.0
        for operator in self.operators:
            result *= operator.determinant() ** self._share(total, operator)
        return result

    def _log_abs_determinant(self) -> Any:
        total = self.domain_dimension_tensor()
        result: Any = 0.0
        for operator in self.operators:
            result += operator.log_abs_determinant() * self._share(total, operator)
        return result

    def _trace(self) -> Tensor:
        result: Any = 1.0
        for operator in self.operators:
            result *= operator.trace()
        return result

    def _diag_part(self) -> Tensor:
        diagonal = self.operators[0].diag_part()
        for operator in self.operators[1:]:
            diagonal = diagonal[..., :, newaxis]
            diagonal *= operator.diag_part()[..., newaxis, :]
            joined = concat([shape(diagonal)[:-2], [-1]], axis=0)
            diagonal = reshape(diagonal, shape=joined)
        wide = not self.range_dimension > self.domain_dimension
        size = self.range_dimension if wide else self.domain_dimension
        diagonal.set_shape(self.batch_shape.concatenate(size))
        return diagonal

    def _to_dense(self) -> Tensor:
        product = self.operators[0].to_dense()
        for operator in self.operators[1:]:
            product = product[..., :, newaxis, :, newaxis]
            product *= operator.to_dense()[..., newaxis, :, newaxis, :]
            batch = shape(product)[:-4]
            rows = shape(product)[-4] * shape(product)[-3]
            columns = shape(product)[-2] * shape(product)[-1]
            product = reshape(product, shape=concat([batch, [rows, columns]], axis=0))
        product.set_shape(self.shape)
        return product

    def _assert_factors(self, method: str, what: str) -> Any:
        if not all(operator.is_square for operator in self.operators):
            raise errors.invalid_argument(
                f"All Kronecker factors must be square for the product to be {what}."
            )
        return group([getattr(operator, method)() for operator in self.operators])

    def _assert_non_singular(self) -> Any:
        return self._assert_factors("assert_non_singular", "invertible")

    def _assert_self_adjoint(self) -> Any:
        return self._assert_factors("assert_self_adjoint", "self adjoint")
