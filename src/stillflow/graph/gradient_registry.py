"""Which function builds the gradient of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.card import find, load_all
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation

# Gradients that programs register; None means: not differentiable.
_registered: dict[str, Callable[..., Any] | None] = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that registers a function as the gradient of an op type.

    The function takes the operation and one gradient per output, and gives one per input. The
    type may also be a new name, to be used through `Graph.gradient_override_map`.

    Raises:
      TypeError: if `op_type` is not a string.
      KeyError: if the type has a gradient already.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        _register(self._op_type, f)
        return f


@export("NotDifferentiable", "NoGradient", "no_gradient")
def not_differentiable(op_type: str) -> None:
    """Says that gradients stop at ops of this type.

    Raises:
      TypeError: if `op_type` is not a string.
      KeyError: if the type has a gradient already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


def _register(op_type: str, function: Callable[..., Any] | None) -> None:
    card = find(op_type)
    if op_type in _registered or (
        card is not None and (card.gradient_part is not None or not card.differentiable)
    ):
        raise KeyError(f"Registering two gradient with name '{op_type}'!")
    _registered[op_type] = function


def gradient_function(op: Operation) -> Callable[..., Any] | None:
    """The function that builds the gradient of `op`, or None if gradients stop there.

    Raises:
      LookupError: if there is none.
    """
    if not op._inputs:
        return None
    name = op.attrs.get("_gradient_op_type")
    op_type = op.type if name is None else name.decode()
    if op_type in _registered:
        return _registered[op_type]
    card = op.card if op_type == op.type else find(op_type)
    if card is None and name is not None:
        raise LookupError(f"gradient registry has no entry for: {op_type}")
    if card is not None and card.gradient_part is None and card.differentiable:
        load_all()  # it may stand in a module of its own
    if card is None or (card.gradient_part is None and card.differentiable):
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type})"
        )
    part = card.gradient_part
    if part is None:
        return None
    return lambda operation, *grads: part(Node(operation), *grads)
