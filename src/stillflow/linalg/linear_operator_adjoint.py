"""The adjoint and the inverse of another operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.linalg import operator_util
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.ops.arrays.concat import concat
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.math.complex import conj

_HINTS = (
    ("is_square", "square"),
    ("is_non_singular", "non-singular"),
    ("is_self_adjoint", "self-adjoint"),
    ("is_positive_definite", "positive-definite"),
)


class _Transformed(LinearOperator):
    """An operator that shares all hints with the one it is made of."""

    _relation = ""
    _suffix = ""

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        given = {
            "is_square": is_square,
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        hints = {}
        for hint, word in _HINTS:
            message = f"An operator is {word} if and only if its {self._relation} is {word}."
            hints[hint] = operator_util.use_operator_or_provided_hint_unless_contradicting(
                operator, hint, given[hint], message
            )
        if name is None:
            name = operator.name + self._suffix
        with name_scope(name, values=operator.graph_parents):
            super().__init__(
                dtype=operator.dtype, graph_parents=operator.graph_parents, name=name, **hints
            )

    @property
    def operator(self) -> Any:
        """The operator that this one is made of."""
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self.operator.assert_self_adjoint()


def _with_adjoint(name: str) -> Callable[..., Any]:
    """Return a method that calls one of the operator's with the adjoint of the matrix."""

    def method(self: Any, operand: Any, adjoint: bool = False, **options: Any) -> Tensor:
        return getattr(self.operator, name)(operand, adjoint=not adjoint, **options)

    return method


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(_Transformed):
    """The conjugate transpose of an operator.

    Args:
      operator: a `LinearOperator`.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator; by default `operator.name + "_adjoint"`.

    Raises:
      ValueError: if hints contradict those of `operator`.
    """

    _relation, _suffix = "adjoint", "_adjoint"

    def _shape(self) -> TensorShape:
        shape = self.operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        sizes = self.operator.shape_tensor()
        return concat([sizes[:-2], [sizes[axis] for axis in (-1, -2)]], axis=-1)

    _matmul, _solve = _with_adjoint("matmul"), _with_adjoint("solve")
    _matvec, _solvevec = _with_adjoint("matvec"), _with_adjoint("solvevec")

    def _conjugate(self, value: Any) -> Tensor:
        return value if self.is_self_adjoint else conj(value)

    def _determinant(self) -> Tensor:
        return self._conjugate(self.operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return self._conjugate(self.operator.trace())

    def _to_dense(self) -> Tensor:
        dense = self.operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(_Transformed):
    """The inverse of an operator.

    Args:
      operator: a `LinearOperator` that may be inverted.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: see `LinearOperator`.
      name: of the operator; by default `operator.name + "_inv"`.

    Raises:
      ValueError: if there is known to be no inverse, or hints contradict those of `operator`.
    """

    _relation, _suffix = "inverse", "_inv"

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        for hint, given in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            own = getattr(operator, hint)
            if own is False or given is False:
                raise ValueError(
                    f"operator and supplied hints must have `{hint}` equal to `True` or `None`.  "
                    f"Found {own}, {given}"
                )
        super().__init__(
            operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Any:
        return self.operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self.operator.log_abs_determinant()

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
