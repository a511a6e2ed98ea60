"""Sums of operators, by the most structured operator that holds them."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.tensor_shape import dimension_value
from stillflow.linalg.linear_operator import LinearOperator
from stillflow.linalg.linear_operator_diag import LinearOperatorDiag
from stillflow.linalg.linear_operator_full_matrix import (
    LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular,
)
from stillflow.linalg.linear_operator_identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)

_IDENTITIES = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
# These add themselves to a matrix by its diagonal alone.
_DIAGONALS = (LinearOperatorDiag, *_IDENTITIES)
_TRIANGLES = (LinearOperatorLowerTriangular, *_DIAGONALS)


class Hints(NamedTuple):
    """Known properties of a sum."""

    is_non_singular: bool | None = None
    is_positive_definite: bool | None = None
    is_self_adjoint: bool | None = None


def add_operators(
    operators: Any,
    operator_name: str | None = None,
    addition_tiers: Any = None,
    name: str | None = None,
) -> list[Any]:
    """Return operators with the same sum, added pair by pair as far as the tiers' adders can.

    Tiers are lists of `Adder`s, the cheapest first; `operator_name` is of the sums.
    """
    tiers = _DEFAULT_TIERS if addition_tiers is None else addition_tiers
    tf.debugging.assert_proper_iterable(operators)
    operators = list(reversed(operators))
    if not operators:
        raise ValueError(
            f"Argument 'operators' must contain at least one operator.  Found: {operators}"
        )
    if not all(isinstance(operator, LinearOperator) for operator in operators):
        raise TypeError(
            f"Argument 'operators' must contain only LinearOperator instances.  Found: {operators}"
        )
    _check_shapes(operators)
    parents = [parent for operator in operators for parent in operator.graph_parents]
    with tf.name_scope(name or "add_operators", values=parents):
        for tier in tiers:
            operators = _add_at_tier(operators, tier, operator_name)
        return operators


def _add_at_tier(operators: list[Any], tier: Any, operator_name: str | None) -> list[Any]:
    left = []
    while operators:
        first = operators.pop()
        second, adder = _pop_match(first, operators, tier)
        if second is None:
            left.append(first)
        else:
            operators.append(adder.add(first, second, operator_name))
    return left


def _pop_match(first: Any, operators: list[Any], tier: Any) -> tuple[Any, Any]:
    for i in range(1, len(operators) + 1):
        for adder in tier:
            if adder.can_add(first, operators[-i]):
                return operators.pop(-i), adder
    return None, None


def _check_shapes(operators: list[Any]) -> None:
    if len(operators) < 2:
        return
    for side in ("domain", "range"):
        sizes = [
            (operator.name, dimension_value(getattr(operator, f"{side}_dimension")))
            for operator in operators
        ]
        known = [pair for pair in sizes if pair[1] is not None]
        if len({size for _, size in known}) > 1:
            raise ValueError(f"Operators must have the same {side} dimension. Found: {known}")
    batch = operators[0].batch_shape
    for operator in operators[1:]:
        batch = tf.broadcast_static_shape(batch, operator.batch_shape)


def _sum_hints(first: Any, second: Any, given: Hints | None) -> Hints:
    given = given or Hints()
    self_adjoint, definite = given.is_self_adjoint, given.is_positive_definite
    if self_adjoint is None:
        self_adjoint = first.is_self_adjoint and second.is_self_adjoint
    non_singular = given.is_non_singular
    if definite is None:
        definite = first.is_positive_definite and second.is_positive_definite
        if definite:
            non_singular = True
    return Hints(non_singular, definite, self_adjoint)


class Adder(metaclass=abc.ABCMeta):
    """Adder of two operators of some classes."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @abc.abstractmethod
    def can_add(self, op1: Any, op2: Any) -> bool:
        """Return True if this adds such operators."""

    @abc.abstractmethod
    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        """Return the sum."""

    def add(self, op1: Any, op2: Any, operator_name: str | None, hints: Hints | None = None) -> Any:
        """Return the sum as an operator with its known properties."""
        joined = _sum_hints(op1, op2, hints)
        if operator_name is None:
            operator_name = f"Add/{op1.name}__{op2.name}/"
        with tf.name_scope(self.name.lstrip("_"), values=op1.graph_parents + op2.graph_parents):
            return self._add(op1, op2, operator_name, joined)


def _known(operator: Any) -> type:
    for kind in (
        LinearOperatorDiag,
        LinearOperatorLowerTriangular,
        LinearOperatorFullMatrix,
        LinearOperatorIdentity,
        LinearOperatorScaledIdentity,
    ):
        if isinstance(operator, kind):
            return kind
    raise TypeError(f"Operator type unknown: {operator}")


def _all_of(op1: Any, op2: Any, kinds: tuple[type, ...]) -> bool:
    return not {_known(op1), _known(op2)}.difference(kinds)


def _dense_sum(op1: Any, op2: Any) -> Any:
    if _known(op1) in _DIAGONALS:
        return op1.add_to_tensor(op2.to_dense())
    return op2.add_to_tensor(op1.to_dense())


class AddAndReturnScaledIdentity(Adder):
    """Adder of identities and their multiples."""

    def can_add(self, op1: Any, op2: Any) -> bool:
        return _all_of(op1, op2, _IDENTITIES)

    def _add(
        self, op1: Any, op2: Any, operator_name: str, hints: Any
    ) -> LinearOperatorScaledIdentity:
        first, second = self._multiplier(op1), self._multiplier(op2)
        return LinearOperatorScaledIdentity(
            num_rows=op1.range_dimension_tensor(),
            multiplier=first + second,
            name=operator_name,
            **hints._asdict(),
        )

    def _multiplier(self, operator: Any) -> Any:
        if isinstance(operator, LinearOperatorScaledIdentity):
            return operator.multiplier
        return tf.ones(operator.batch_shape_tensor(), dtype=operator.dtype)


class AddAndReturnDiag(Adder):
    """Adder of diagonal operators."""

    def can_add(self, op1: Any, op2: Any) -> bool:
        return _all_of(op1, op2, _DIAGONALS)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> LinearOperatorDiag:
        diagonal = op1.diag_part() + op2.diag_part()
        return LinearOperatorDiag(diag=diagonal, name=operator_name, **hints._asdict())


class AddAndReturnTriL(Adder):
    """Adder of diagonal and lower-triangular operators."""

    def can_add(self, op1: Any, op2: Any) -> bool:
        return _all_of(op1, op2, _TRIANGLES)

    def _add(
        self, op1: Any, op2: Any, operator_name: str, hints: Any
    ) -> LinearOperatorLowerTriangular:
        return LinearOperatorLowerTriangular(
            tril=_dense_sum(op1, op2), name=operator_name, **hints._asdict()
        )


class AddAndReturnMatrix(Adder):
    """Adder of any operators."""

    def can_add(self, op1: Any, op2: Any) -> bool:
        return isinstance(op1, LinearOperator) and isinstance(op2, LinearOperator)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        return LinearOperatorFullMatrix(
            matrix=_dense_sum(op1, op2), name=operator_name, **hints._asdict()
        )


_DEFAULT_TIERS = [
    [AddAndReturnScaledIdentity()],
    [AddAndReturnDiag()],
    [AddAndReturnTriL()],
    [AddAndReturnMatrix()],
]
