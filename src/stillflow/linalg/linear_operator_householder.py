"""Reflections at a hyperplane."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.norms import norm
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.slicing import newaxis
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.diagonal import matrix_diag_part, matrix_set_diag
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """A batch of reflections `I - 2 v v^H`, v of length one.

    Args:
      reflection_axis: `[..., N]`, of any length, normal to the hyperplanes.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: for a scalar, or hints that cannot be.
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        with name_scope(name, values=[reflection_axis]):
            axis = operator_util.convert_nonref_to_tensor(reflection_axis, name="reflection_axis")
            self._reflection_axis = axis
            operator_util.assert_rank_at_least(1, axis, "reflection_axis")
            if is_self_adjoint is False:
                raise ValueError("A Householder operator is always self adjoint.")
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            if is_square is False:
                raise ValueError("A Householder operator is always square.")
            super().__init__(
                dtype=axis.dtype,
                graph_parents=[axis],
                is_non_singular=is_non_singular,
                is_self_adjoint=True,
                is_positive_definite=False,
                is_square=True,
                name=name,
            )

    @property
    def reflection_axis(self) -> Tensor | None:
        """The normals of the hyperplanes, as they were given."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        sizes = self._reflection_axis.shape
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Any:
        sizes = shape(self._reflection_axis)
        return concat((sizes, [sizes[-1]]), 0)

    def _assert_non_singular(self) -> Any:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        raise errors.invalid_argument("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")

    def _normal(self, axis: Any) -> Tensor:
        return axis / norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # A reflection is its own adjoint and inverse.
        axis = convert_to_tensor(self.reflection_axis)
        x = adjoint_of(x) if adjoint_arg else x
        normal = self._normal(axis)[..., newaxis]
        along = matmul(normal, x, adjoint_a=True)
        return x - 2 * normal * along

    def _trace(self) -> Tensor:
        trace = cast(self.domain_dimension_tensor() - 2, self.dtype)
        return trace * ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _determinant(self) -> Tensor:
        return -ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Any:
        return zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        normal = self._normal(self.reflection_axis)[..., newaxis]
        matrix = -2 * matmul(normal, normal, adjoint_b=True)
        return matrix_set_diag(matrix, 1.0 + matrix_diag_part(matrix))

    def _diag_part(self) -> Tensor:
        normal = self._normal(self.reflection_axis)
        return 1.0 - 2 * normal * conj(normal)
