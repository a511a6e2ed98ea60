"""Decorators that can be looked through: ``tensorflow.python.util.tf_decorator``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


class TFDecorator:
    """Record of a decorated function: the decorator's name, documentation and target."""

    def __init__(
        self,
        decorator_name: str,
        target: Any,
        decorator_doc: str = "",
        decorator_argspec: Any = None,
    ) -> None:
        self._decorated_target = target
        self.decorator_name = decorator_name
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""

    @property
    def decorated_target(self) -> Any:
        """The decorated object."""
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, decorated_target: Any) -> None:
        self._decorated_target = decorated_target

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._decorated_target(*args, **kwargs)


def make_decorator(
    target: Any,
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Make a wrapper look like the wrapped function; return `decorator_func`, the wrapper.

    `decorator_name` is by default that of the calling function; `decorator_doc` and the ArgSpec
    replace the target's.
    """
    if decorator_name is None:
        decorator_name = sys._getframe(1).f_code.co_name
    decorator = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    wrapper: Any = decorator_func
    wrapper._tf_decorator = decorator
    for name in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, name):
            setattr(wrapper, name, getattr(target, name))
    for name, value in getattr(target, "__dict__", {}).items():
        wrapper.__dict__.setdefault(name, value)
    if hasattr(target, "__doc__"):
        wrapper.__doc__ = decorator.__doc__
    wrapper.__wrapped__ = wrapper.__original_wrapped__ = target
    return wrapper


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """Return the decorators around a function, outermost first, and the function."""
    decorators: list[TFDecorator] = []
    current = maybe_tf_decorator
    while True:
        found = current if isinstance(current, TFDecorator) else _decorator(current)
        if found is None:
            return decorators, current
        decorators.append(found)
        current = found.decorated_target


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Put another target into a decorated function; return that, or `new_target` if undecorated.

    `previous_target` is as `unwrap` returns it.
    """
    current, innermost, decorator = decorator_func, None, None
    while (found := _decorator(current)) is not None:
        innermost, decorator = current, found
        if found.decorated_target is previous_target:
            break
        current = found.decorated_target
    if decorator is None:
        assert decorator_func is previous_target
        return new_target
    decorator.decorated_target = new_target
    holder: Any = innermost.__func__ if inspect.ismethod(innermost) else innermost
    holder.__wrapped__ = new_target
    return decorator_func


def _decorator(function: Any) -> TFDecorator | None:
    found = getattr(function, "_tf_decorator", None)
    return found if isinstance(found, TFDecorator) else None
