"""Registry of gradient functions by op type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.card import find, load_all
from stillflow.graph.export import export
from stillflow.graph.node import Node, SkippingNode
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
    """Return the function that builds the gradient of `op`, or None if gradients stop there."""
    if not op._inputs:
        return None
    name = op.attrs.get("_gradient_op_type")
    op_type = op.type if name is None else name.decode()
    if op_type in _registered:
        return _registered[op_type]
    card = op.card if op_type == op.type else find(op_type)
    if card is not None and card.gradient_part is None and card.differentiable:
        load_all()  # it may stand in a module of its own
    if card is None or (card.gradient_part is None and card.differentiable):
        raise LookupError(f"gradient registry has no entry for: {op_type}")
    part = card.gradient_part
    if part is None:
        return None
    return lambda operation, *grads: part(Node(operation), *grads)


# Operations whose gradient depends on where in the graph's loops and branches they stand.
_CONTROL_FLOW = ("Switch", "RefSwitch", "Exit", "RefExit")


def backward_function(op: Operation) -> Callable[[Sequence[Any], frozenset[int]], list[Any]]:
    """Return the gradient of one operation for a tape, which goes by the type of the op alone.

    The function takes the gradients of the outputs and the positions of the inputs whose gradient
    nobody wants, and gives one gradient or None for each input. When called, it raises LookupError
    if there is no gradient, NotImplementedError for parts of loops and branches.
    """

    def backward(grads: Sequence[Any], skipped: frozenset[int]) -> list[Any]:
        if op.type in _CONTROL_FLOW:
            raise NotImplementedError(
                "tf.GradientTape.gradients() does not support graph control flow operations like "
                "tf.cond or tf.while at this time. Use tf.gradients() instead. If you need this "
                "feature, please file a feature request at "
                "https://github.com/tensorflow/tensorflow/issues/new"
            )
        if op.type in _registered:
            function = _registered[op.type]
            made = None if function is None else function(op, *grads)
        else:
            made = _of_card(op, grads, skipped)
        if made is None:
            return [None] * len(op._inputs)
        return list(made) if isinstance(made, (list, tuple)) else [made]

    return backward


def _of_card(op: Operation, grads: Sequence[Any], skipped: frozenset[int]) -> Any:
    card = op.card
    if card.gradient_part is None and card.differentiable:
        load_all()  # it may stand in a module of its own
        if card.gradient_part is None:
            raise LookupError(f"gradient registry has no entry for: {op.type}")
    if card.gradient_part is None:
        return None
    return card.gradient_part(SkippingNode(op, skipped), *grads)
