"""Functions of tensors that also take other kinds of tensors: sparse ones, ragged ones.

A function marked `dispatchable` that cannot take its arguments asks the handlers registered for
it. They stand where those other kinds are defined, so that this function need not know them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.util import tf_decorator

Function = TypeVar("Function", bound=Callable[..., Any])
Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# Result of a handler for arguments of other kinds.
NOT_SUPPORTED = object()

_handlers: dict[Callable[..., Any], list[Handler]] = {}


def dispatchable(function: Function) -> Function:
    """Mark a function that accepts arguments of registered foreign kinds."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            for handler in _handlers[call]:
                result = handler(args, kwargs)
                if result is not NOT_SUPPORTED:
                    return result
            raise

    _handlers[call] = []
    return tf_decorator.make_decorator(function, call)


def register(function: Callable[..., Any], handler: Handler) -> None:
    """Make a dispatchable function call `handler(args, kwargs)` for unsupported arguments."""
    _handlers[function].append(handler)


def map_sparse_values(function: Function) -> Function:
    """Make a dispatchable function of one tensor take a `SparseTensor`: it maps its values."""

    def handler(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = args[0] if args else kwargs.get("x")
        if not isinstance(x, SparseTensor):
            return NOT_SUPPORTED
        rest = {key: value for key, value in kwargs.items() if key != "x"}
        values = function(x.values, *args[1:], **rest)
        return SparseTensor(x.indices, values, x.dense_shape)

    register(function, handler)
    return function
