"""Kullback-Leibler divergences, by the classes of two distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.comparison import is_nan, logical_not
from stillflow.ops.math.reductions import reduce_any
from stillflow.util.deprecation import silence

DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


def registered_kl(type_a: type, type_b: type) -> Callable[..., Any] | None:
    """Return the divergence registered for the nearest base classes, or None."""
    found, nearest = None, 0
    for steps_a, base_a in enumerate(inspect.getmro(type_a)):
        for steps_b, base_b in enumerate(inspect.getmro(type_b)):
            candidate = DIVERGENCES.get((base_a, base_b))
            if candidate is not None and (found is None or steps_a + steps_b < nearest):
                found, nearest = candidate, steps_a + steps_b
    return found


@export("distributions.kl_divergence", "contrib.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return the Kullback-Leibler divergence of two distributions.

    Args:
      distribution_a: the distribution that the expectation is over.
      distribution_b: the other.
      allow_nan_stats: whether NaN may come out; else running fails on it.

    Raises:
      NotImplementedError: if none is registered for their classes.
    """
    both = distribution_a, distribution_b
    kinds = [type(each) for each in both]
    function = registered_kl(*kinds)
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type {} and "
            "distribution_b type {}".format(*(kind.__name__ for kind in kinds))
        )
    with name_scope("KullbackLeibler"):
        divergence = function(*both, name=name)
        return divergence if allow_nan_stats else _without_nan(divergence, *both)


def _without_nan(divergence: Any, *distributions: Any) -> Any:
    """Return the divergence of two distributions; running fails if it has NaN."""
    value = identity(divergence, name="kl")
    is_number = logical_not(reduce_any(is_nan(value)))
    message = (
        "KL calculation between {} and {} returned NaN values (and was called with "
        "allow_nan_stats=False). Values:".format(*(each.name for each in distributions))
    )
    with control_dependencies([Assert(is_number, [message, value])]):
        return identity(value, name="checked_kl")


def cross_entropy(
    ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return the cross entropy of two distributions: the entropy of `ref` and its divergence."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


@export("distributions.RegisterKL", "contrib.distributions.RegisterKL")
class RegisterKL:
    """A decorator that registers the divergence of two classes of distributions.

    Raises:
      TypeError: if the decorated object is not callable.
      ValueError: if the classes have a divergence already.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in DIVERGENCES:
            a, b = self._key
            raise ValueError(
                f"KL({a.__name__} || {b.__name__}) has already been registered to: "
                f"{DIVERGENCES[self._key]}"
            )
        DIVERGENCES[self._key] = kl_fn
        return kl_fn


def register_kl(dist_cls_a: type, dist_cls_b: type) -> RegisterKL:
    """`RegisterKL` for the distributions here, which nobody need be warned of."""
    with silence():
        return RegisterKL(dist_cls_a, dist_cls_b)
