"""Products of operators."""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.stack import stack
from stillflow.ops.debugging.types import assert_proper_iterable


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(LinearOperator):
    """The product `A1 A2 ... An`, applied from the right.

    Args:
      operators: operators of one type whose shapes fit.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator; by default the operators' names joined by "_o_".

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
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        self._operators = operators
        dtype = operator_util.common_dtype(operators)
        is_non_singular = operator_util.implied(
            operators,
            "is_non_singular",
            is_non_singular,
            "The composition of non-singular operators is always non-singular.",
        )
        parents = operator_util.graph_parents(operators)
        if name is None:
            name = "_o_".join(operator.name for operator in operators)
        with name_scope(name, values=parents):
            super().__init__(
                dtype=dtype,
                graph_parents=parents,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    @property
    def operators(self) -> list[Any]:
        """The factors, left to right."""
        return self._operators

    def _shape(self) -> TensorShape:
        first, *others = self.operators
        columns = first.domain_dimension
        for operator in others:
            columns.assert_is_compatible_with(operator.range_dimension)
            columns = operator.domain_dimension
        matrix = TensorShape([first.range_dimension, self.operators[-1].domain_dimension])
        return operator_util.broadcast_batch_shape(self.operators).concatenate(matrix)

    def _shape_tensor(self) -> Any:
        if self.shape.is_fully_defined():
            return convert_to_tensor(self.shape.as_list(), dtype=dtypes.int32, name="shape")
        first, last = self.operators[0], self.operators[-1]
        matrix = stack([first.range_dimension_tensor(), last.domain_dimension_tensor()])
        return concat((operator_util.batch_shape_by_addition(self.operators), matrix), 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self.operators if adjoint else self.operators[::-1]
        result = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def _determinant(self) -> Tensor:
        return reduce(mul, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> Any:
        return reduce(add, (operator.log_abs_determinant() for operator in self.operators))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self.operators[::-1] if adjoint else self.operators
        solution = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            solution = operator.solve(solution, adjoint=adjoint)
        return solution
