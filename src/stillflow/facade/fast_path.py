"""`TFE_Py_FastPathExecute`: the call that the Python wrappers of operations make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.facade.eager_execute import attributes
from stillflow.facade.eager_only import FallbackException, NotOkStatusException
from stillflow.graph.operation import Tensor

_BEFORE = 5  # context, device, operation, name, callbacks


def fast_path_execute(*args: Any) -> Tensor | list[Tensor] | None:
    """Run an operation on tensors with values.

    Arguments are the context, a device's name, the operation's type, a name or None, callbacks or
    None, its inputs (lists for list arguments), then names and values of attributes in turn.
    Returns a single result, a list of several, or None. FallbackException: an argument is a tensor
    of a graph, or an attribute is wrong; the caller has a slower way, which gives the error.
    NotOkStatusException: the operation fails.
    """
    from stillflow.eager.immediate import context as eager_graph
    from stillflow.graph.attrs import check
    from stillflow.graph.card import get
    from stillflow.graph.eager_mode import eager_mode

    if len(args) < _BEFORE:
        raise ValueError("There must be at least 5 items in the input tuple.")
    _, device, op_name, name, _, *given = args
    if not isinstance(op_name, (str, bytes)):
        raise TypeError(f"expected a string for op_name, got {type(op_name).__name__} instead")
    card = get(op_name.decode() if isinstance(op_name, bytes) else op_name)
    count = len(card.signature.inputs)
    if len(given) < count:
        raise ValueError(
            "Tuple size smaller than intended. Expected to be at least "
            f"{_BEFORE + count}, was {len(args)}"
        )
    inputs, pairs = given[:count], given[count:]
    if _is_of_graph(inputs):
        raise FallbackException(
            "This function does not handle the case of the path where all inputs are not already "
            "EagerTensors."
        )
    try:
        attrs = attributes(card, pairs)
        for key, value in attrs.items():
            check(value, card.signature.attrs[key], card.name)
    except (errors.InvalidArgumentError, ValueError) as error:
        raise FallbackException(str(error)) from error
    try:
        with eager_mode(), eager_graph().device(device or None):
            found = eager_graph().call(card, inputs, attrs, name)
    except errors.OpError as error:
        raise NotOkStatusException(error.message, error.error_code) from error
    except (TypeError, ValueError) as error:  # the arguments are wrong
        raise FallbackException(str(error)) from error
    return list(found) if isinstance(found, tuple) else found


def _is_of_graph(inputs: Sequence[Any]) -> bool:
    """Return True if a tensor, or a variable's handle, has no value."""
    from stillflow.graph.operation import Tensor

    flat = [x for one in inputs for x in (one if isinstance(one, (list, tuple)) else [one])]
    tensors = (getattr(value, "handle", value) for value in flat)
    return any(isinstance(each, Tensor) and not each.holds_value for each in tensors)
