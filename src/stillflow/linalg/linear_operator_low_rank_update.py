"""An operator plus a product of low rank."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape, dimension_at_index, dimension_value
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.linear_operator_diag import LinearOperatorDiag
from stillflow.linalg.linear_operator_identity import LinearOperatorIdentity
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import shape
from stillflow.ops.linalg.decompositions import cholesky, matrix_determinant
from stillflow.ops.linalg.diagonal import matrix_diag_part
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import exp, log
from stillflow.platform import tf_logging


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """`L + U D V^H`: solved by the Woodbury identity.

    Args:
      base_operator: L, `[..., M, N]`.
      u: U, `[..., M, K]`.
      diag_update: the diagonal of D, `[..., K]`; None for the identity.
      v: V, `[..., N, K]`; None for U.
      is_diag_update_positive: a hint whether D is positive.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator.

    Raises:
      ValueError: if shapes do not fit or hints cannot be.
    """

    def __init__(
        self,
        base_operator: Any,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        positive = self._positive(base_operator.dtype, diag_update, is_diag_update_positive)
        hints = self._hints(
            base_operator, v, positive, is_non_singular, is_self_adjoint, is_positive_definite
        )
        with name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = operator_util.convert_nonref_to_tensor(u, name="u")
            self._v = self._u if v is None else operator_util.convert_nonref_to_tensor(v, name="v")
            self._diag_update = operator_util.convert_nonref_to_tensor(
                diag_update, name="diag_update"
            )
            self._base_operator = base_operator
            parents = [*base_operator.graph_parents, self.u, self._diag_update, self.v]
            super().__init__(
                dtype=base_operator.dtype,
                graph_parents=[parent for parent in parents if parent is not None],
                is_square=is_square,
                name=name,
                **hints,
            )
            self._diag_operator = self._make_diag_operator(positive)
            self._is_diag_update_positive = positive
            self._check_shapes()

    def _positive(self, dtype: Any, diag_update: Any, hint: bool | None) -> bool | None:
        if diag_update is not None:
            if hint and dtype.is_complex:
                tf_logging.warn(
                    "Note: setting is_diag_update_positive with a complex dtype means that "
                    "diagonal is real and positive."
                )
            return hint
        if hint is False:
            raise ValueError(
                "Default diagonal is the identity, which is positive.  However, user set "
                "'is_diag_update_positive' to False."
            )
        return True

    def _hints(
        self, base: Any, v: Any, positive: Any, non_singular: Any, self_adjoint: Any, definite: Any
    ) -> dict[str, Any]:
        self._use_cholesky = (
            base.is_positive_definite and base.is_self_adjoint and positive and v is None
        )
        if base.is_self_adjoint and v is None and not base.dtype.is_complex:
            if self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is "
                    "self-adjoint, this must be a self-adjoint operator."
                )
            self_adjoint = True
        if self._use_cholesky:
            if definite is False or self_adjoint is False or non_singular is False:
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            definite = self_adjoint = True
        return {
            "is_non_singular": non_singular,
            "is_self_adjoint": self_adjoint,
            "is_positive_definite": definite,
        }

    def _check_shapes(self) -> None:
        uv = broadcast_static_shape(self.u.shape, self.v.shape)
        batch = broadcast_static_shape(self.base_operator.batch_shape, uv[:-2])
        Dimension(self.base_operator.domain_dimension).assert_is_compatible_with(uv[-2])
        if self._diag_update is not None:
            rank = dimension_at_index(uv, -1)
            rank.assert_is_compatible_with(self._diag_update.shape[-1])
            broadcast_static_shape(batch, self._diag_update.shape[:-1])

    def _make_diag_operator(self, positive: Any) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=positive)
        size = dimension_value(self.u.shape[-1])
        if size is None:
            size = shape(self.u)[-1]
        return LinearOperatorIdentity(num_rows=size, dtype=self.dtype)

    @property
    def u(self) -> Any:
        """U."""
        return self._u

    @property
    def v(self) -> Any:
        """V."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """The hint whether D is positive."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D, None if it is the identity."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        return self._diag_operator

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base_operator

    def _shape(self) -> TensorShape:
        batch = broadcast_static_shape(self.base_operator.batch_shape, self.u.shape[:-2])
        return batch.concatenate(self.base_operator.shape[-2:])

    def _shape_tensor(self) -> Any:
        batch = broadcast_dynamic_shape(self.base_operator.batch_shape_tensor(), shape(self.u)[:-2])
        return concat([batch, self.base_operator.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        leading = self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        projected = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        scaled = self.diag_operator.matmul(projected, adjoint=adjoint)
        return leading + matmul(left, scaled)

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exp(self.log_abs_determinant())
        capacitance = matrix_determinant(self._make_capacitance())
        of_diag = self.diag_operator.determinant()
        of_base = self.base_operator.determinant()
        return capacitance * of_diag * of_base

    def _log_abs_determinant(self) -> Tensor:
        parts = (self.diag_operator, self.base_operator)
        known = [operator.log_abs_determinant() for operator in parts]
        capacitance = self._make_capacitance()
        if self._use_cholesky:
            pivots = matrix_diag_part(cholesky(capacitance))
            rest = 2 * reduce_sum(log(pivots), axis=[-1])
        else:
            rest = cast(log(abs_(matrix_determinant(capacitance))), dtype=self.dtype)
        return reduce(add, known, rest)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        base = self.base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        leading = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        projected = matmul(right, leading, adjoint_a=True)
        capacitance = self._make_capacitance()
        if self._use_cholesky:
            solved = operator_util.cholesky_solve_with_broadcast(cholesky(capacitance), projected)
        else:
            solved = operator_util.matrix_solve_with_broadcast(
                capacitance, projected, adjoint=adjoint
            )
        return leading - base.solve(matmul(left, solved), adjoint=adjoint)

    def _make_capacitance(self) -> Tensor:
        inner = matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)
