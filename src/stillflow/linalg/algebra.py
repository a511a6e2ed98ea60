"""Registry of functions that compute the adjoint, inverse, ... of operators, by class."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.graph.api import name_scope

if TYPE_CHECKING:
    from stillflow.linalg.linear_operator import LinearOperator


_Registry = dict[tuple[type, ...], Callable[..., Any]]

# True when the functions of the operators here are registered.
registrations: Hook[bool] = Hook("linalg.algebra.registrations")

_ADJOINTS: _Registry = {}
_CHOLESKY_DECOMPS: _Registry = {}
_INVERSES: _Registry = {}
_MATMUL: _Registry = {}
_SOLVE: _Registry = {}


def _registered(types: tuple[type, ...], registry: _Registry) -> Callable[..., Any] | None:
    """Return the function of the nearest base classes, by the sum of distances."""
    assert registrations.value
    ancestors = [list(enumerate(inspect.getmro(kind))) for kind in types]
    best, nearest = None, 10000
    for combination in itertools.product(*ancestors):
        function = registry.get(tuple(kind for _, kind in combination))
        distance = sum(steps for steps, _ in combination)
        if function is not None and distance < nearest:
            best, nearest = function, distance
    return best


def _apply(
    operators: tuple[Any, ...], registry: _Registry, refusal: str, scope: tuple[Any, str]
) -> LinearOperator:
    types = tuple(type(operator) for operator in operators)
    function = _registered(types, registry)
    if function is None:
        raise ValueError(refusal.format(*types))
    with name_scope(*scope):
        return function(*operators)


def adjoint(lin_op_a: Any, name: str | None = None) -> LinearOperator:
    """Return the adjoint of an operator."""
    return _apply((lin_op_a,), _ADJOINTS, "No adjoint registered for {}", (name, "Adjoint"))


def cholesky(lin_op_a: Any, name: str | None = None) -> LinearOperator:
    """Return the Cholesky factor of an operator."""
    refusal = "No cholesky decomposition registered for {}"
    return _apply((lin_op_a,), _CHOLESKY_DECOMPS, refusal, (name, "Cholesky"))


def inverse(lin_op_a: Any, name: str | None = None) -> LinearOperator:
    """Return the inverse of an operator."""
    return _apply((lin_op_a,), _INVERSES, "No inverse registered for {}", (name, "Inverse"))


def matmul(lin_op_a: Any, lin_op_b: Any, name: str | None = None) -> Any:
    """Return the product of two operators."""
    refusal = "No matmul registered for {}.matmul({})"
    return _apply((lin_op_a, lin_op_b), _MATMUL, refusal, (name, "Matmul"))


def solve(lin_op_a: Any, lin_op_b: Any, name: str | None = None) -> Any:
    """Return the inverse of one operator times another."""
    refusal = "No solve registered for {}.solve({})"
    return _apply((lin_op_a, lin_op_b), _SOLVE, refusal, (name, "Solve"))


def registered_adjoint(type_a: type) -> Callable[..., Any] | None:
    """Return the function for adjoints of operators of a class."""
    return _registered((type_a,), _ADJOINTS)


def registered_cholesky(type_a: type) -> Callable[..., Any] | None:
    """Return the function for Cholesky factors of operators of a class."""
    return _registered((type_a,), _CHOLESKY_DECOMPS)


def registered_inverse(type_a: type) -> Callable[..., Any] | None:
    """Return the function for inverses of operators of a class."""
    return _registered((type_a,), _INVERSES)


def registered_matmul(type_a: type, type_b: type) -> Callable[..., Any] | None:
    """Return the function for products of operators of two classes."""
    return _registered((type_a, type_b), _MATMUL)


def registered_solve(type_a: type, type_b: type) -> Callable[..., Any] | None:
    """Return the function that solves with operators of one class for those of another."""
    return _registered((type_a, type_b), _SOLVE)


class _Register:
    """A decorator that registers a function for classes of operators that have none yet."""

    registry: _Registry = {}
    argument = ""
    title = ""

    def __init__(self, *classes: type) -> None:
        self._key = classes

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"{self.argument} must be callable, received: {function}")
        if self._key in self.registry:
            named = f"{self.title}({', '.join(kind.__name__ for kind in self._key)})"
            end = f" to: {self.registry[self._key]}" if len(self._key) == 1 else "."
            raise ValueError(f"{named} has already been registered{end}")
        self.registry[self._key] = function
        return function


class RegisterAdjoint(_Register):
    """Registers the adjoint of a class of operators."""

    registry, argument, title = _ADJOINTS, "adjoint_fn", "Adjoint"


class RegisterCholesky(_Register):
    """Registers the Cholesky decomposition of a class of operators."""

    registry, argument, title = _CHOLESKY_DECOMPS, "cholesky_fn", "Cholesky"


class RegisterInverse(_Register):
    """Registers the inverse of a class of operators."""

    registry, argument, title = _INVERSES, "inverse_fn", "Inverse"


class RegisterMatmul(_Register):
    """Registers the product of two classes of operators."""

    registry, argument, title = _MATMUL, "matmul_fn", "Matmul"


class RegisterSolve(_Register):
    """Registers solving with one class of operators for another."""

    registry, argument, title = _SOLVE, "solve_fn", "Solve"
