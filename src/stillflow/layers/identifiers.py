"""Activations, initializers, regularizers and constraints given by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("keras.activations.linear")
def linear(x: Any) -> Tensor:
    """Return the activation that changes nothing: gives `x` itself."""
    return x


def activation_of(identifier: Any) -> Callable[..., Any]:
    """Return the function behind an activation's name, dictionary or function.

    `linear` for None.
    """
    if isinstance(identifier, (str, dict)):
        return _by_name("activations", identifier)
    if identifier is not None and not callable(identifier):
        raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
    return linear if identifier is None else identifier


def initializer_of(identifier: Any) -> Any:
    """Return the initializer behind a name, dictionary, class or object; None stays None."""
    return _resolve("initializers", "initializer", identifier)


def regularizer_of(identifier: Any) -> Any:
    """Return the regularizer behind a name, dictionary or function; None stays None."""
    if identifier is None or callable(identifier):
        return identifier
    return importlib.import_module("stillflow.keras.regularizers").get(identifier)


def constraint_of(identifier: Any) -> Any:
    """Return the constraint behind a name, dictionary or function; None stays None."""
    return _resolve("constraints", "constraint", identifier)


def _resolve(namespace: str, what: str, identifier: Any) -> Any:
    if isinstance(identifier, (str, dict)):
        return _by_name(namespace, identifier)
    if identifier is not None and not callable(identifier):
        raise ValueError(f"Could not interpret {what} identifier: {identifier}")
    return identifier


def _by_name(namespace: str, identifier: Any) -> Any:
    return importlib.import_module(f"stillflow.keras.{namespace}").get(identifier)


def serialized(namespace: str, value: Any) -> Any:
    """Return the argument from which `get` of `tf.keras.<namespace>` makes `value` again."""
    if value is None:
        return None
    return importlib.import_module(f"stillflow.keras.{namespace}").serialize(value)
