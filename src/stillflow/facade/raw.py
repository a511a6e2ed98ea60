"""``gen_*_ops`` functions: operations of ``tf.raw_ops`` under their old snake-case names."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any


def generated(name: str, default: Any) -> Any:
    """Return the function for an operation's name in either spelling, or `default`.

    Args:
      name: "l2_loss" or "L2Loss".
      default: what to return when there is no such operation.
    """
    space = importlib.import_module("stillflow.raw_ops")
    camel = _index().get(name.replace("_", "").lower())
    if camel is None or name not in (camel, name.lower()):
        return default
    function = getattr(space, camel)
    return function if name == camel else _positional(function)


@functools.cache
def _index() -> dict[str, str]:
    space = importlib.import_module("stillflow.raw_ops")
    return {name.lower(): name for name in dir(space) if not name.startswith("_")}


@functools.cache
def _positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a keyword-only function be called by position, as the generated ones could be."""
    parameters = inspect.signature(function).parameters.values()
    order = [item.name for item in parameters if item.kind is not item.VAR_KEYWORD]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(
                f"{function.__name__}() takes {len(order)} arguments but {len(args)} were given"
            )
        for name, value in zip(order, args):
            if name in kwargs:
                raise TypeError(f"{function.__name__}() got multiple values for argument {name!r}")
            kwargs[name] = value
        return function(**kwargs)

    return call
