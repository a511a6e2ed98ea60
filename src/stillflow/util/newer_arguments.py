"""Functions that take a newer order or names of arguments and hand them on to older functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def handed_on(
    shape: Callable[..., Any], module: Any, name: str, **fixed: Any
) -> Callable[..., Any]:
    """Return a function with the signature `shape` that calls a module's function by keywords.

    Args:
      shape: has the arguments and defaults; what it returns is not looked at.
      module: has the function; a `LazyModule` is not loaded before the first call.
      name: of the function in the module.
      **fixed: further arguments that the module's function always gets.
    """
    signature = inspect.signature(shape)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return getattr(module, name)(**given.arguments, **fixed)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = f"See `{name}` of TensorFlow 1, whose arguments stand in another order."
    return call
