"""Blocks on a diagonal."""

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
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape, squeeze
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.arrays.splitting import split
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.debugging.types import assert_proper_iterable

_HINTS = (
    ("is_non_singular", "non-singular"),
    ("is_self_adjoint", "self-adjoint"),
    ("is_positive_definite", "positive definite"),
)


def _zeros_beside(block: Any, outer: Any, columns: Any) -> Tensor:
    return zeros(shape=concat([outer, [columns]], axis=-1), dtype=block.dtype)


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(LinearOperator):
    """Square operators along the diagonal of a larger one.

    Args:
      operators: square operators of one type.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator; by default the operators' names joined by "_ds_".

    Raises:
      TypeError: if the types differ.
      ValueError: if there are no operators, one is not square, or hints cannot be.
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        assert_proper_iterable(operators)
        operators = list(operators)
        if not operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        self._operators = operators
        dtype = operator_util.common_dtype(operators)
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        for hint, word in _HINTS:
            message = f"The direct sum of {word} operators is always {word}."
            hints[hint] = operator_util.implied(operators, hint, hints[hint], message)
        if not (is_square and all(operator.is_square for operator in operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        parents = operator_util.graph_parents(operators)
        if name is None:
            name = "_ds_".join(operator.name for operator in operators)
        with name_scope(name, values=parents):
            super().__init__(dtype=dtype, graph_parents=parents, is_square=True, name=name, **hints)

    @property
    def operators(self) -> list[Any]:
        """The blocks."""
        return self._operators

    def _shape(self) -> TensorShape:
        columns, rows = self.operators[0].domain_dimension, self.operators[0].range_dimension
        for operator in self.operators[1:]:
            columns += operator.domain_dimension
            rows += operator.range_dimension
        batch = operator_util.broadcast_batch_shape(self.operators)
        return batch.concatenate(TensorShape([columns, rows]))

    def _shape_tensor(self) -> Any:
        if self.shape.is_fully_defined():
            return convert_to_tensor(self.shape.as_list(), dtype=dtypes.int32, name="shape")
        first, *rest = (
            (operator.domain_dimension_tensor, operator.range_dimension_tensor)
            for operator in self.operators
        )
        totals = [side() for side in first]
        for sides in rest:
            totals = [total + side() for total, side in zip(totals, sides)]
        matrix = stack(totals)
        return concat((operator_util.batch_shape_by_addition(self.operators), matrix), 0)

    def _blocks(self, x: Any, adjoint_arg: bool) -> list[Tensor]:
        known = self.shape.is_fully_defined()
        sizes = [
            operator.domain_dimension.value if known else operator.domain_dimension_tensor()
            for operator in self.operators
        ]
        return split(x, sizes, axis=-1 if adjoint_arg else -2)

    def _for_each_block(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Tensor:
        blocks = self._blocks(x, adjoint_arg)
        results = [
            getattr(operator, method)(block, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, block in zip(self.operators, blocks, strict=True)
        ]
        return concat(operator_util.broadcast_matrix_batch_dims(results), axis=-2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._for_each_block("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._for_each_block("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return reduce(mul, (operator.determinant() for operator in self.operators))

    def _log_abs_determinant(self) -> Any:
        return reduce(add, (operator.log_abs_determinant() for operator in self.operators))

    def _trace(self) -> Tensor:
        return reduce(add, (operator.trace() for operator in self.operators))

    def _diag_part(self) -> Tensor:
        parts = [operator.diag_part()[..., newaxis] for operator in self.operators]
        parts = operator_util.broadcast_matrix_batch_dims(parts)
        return squeeze(concat(parts, axis=-2), axis=-1)

    def _to_dense(self) -> Tensor:
        columns: Any = 0
        rows = []
        blocks = [operator.to_dense() for operator in self.operators]
        for block in operator_util.broadcast_matrix_batch_dims(blocks):
            outer = shape(block)[:-1]
            left = _zeros_beside(block, outer, columns)
            columns += shape(block)[-1]
            right = _zeros_beside(block, outer, self.domain_dimension_tensor() - columns)
            rows.append(concat([left, block, right], axis=-1))
        matrix = concat(rows, axis=-2)
        matrix.set_shape(self.shape)
        return matrix

    def _assert_non_singular(self) -> Any:
        return group([operator.assert_non_singular() for operator in self.operators])

    def _assert_self_adjoint(self) -> Any:
        return group([operator.assert_self_adjoint() for operator in self.operators])

    def _assert_positive_definite(self) -> Any:
        return group([operator.assert_positive_definite() for operator in self.operators])
