"""``tensorflow.python.util.function_utils``."""

from __future__ import annotations

import functools
from types import CodeType
from typing import Any

from stillflow.util import tf_decorator, tf_inspect


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of a function's, or the like's, arguments, less those bound already."""
    if isinstance(fn, functools.partial):
        names = fn_args(fn.func)
        return tuple(name for name in names[len(fn.args) :] if name not in fn.keywords)
    if hasattr(fn, "__call__") and tf_inspect.ismethod(fn.__call__):  # noqa: B004 - see above
        fn = fn.__call__
    names = tuple(tf_inspect.getfullargspec(fn).args)
    bound = tf_inspect.ismethod(fn) and getattr(fn, "__self__", None) is not None
    return names[1:] if bound else names


def has_kwargs(fn: Any) -> bool:
    """Return True if a function, or the like, takes any keyword argument."""
    if isinstance(fn, functools.partial):
        fn = fn.func
    elif not tf_inspect.isfunction(fn) and not tf_inspect.ismethod(fn):
        if not callable(fn):
            raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
        fn = fn.__call__
    return tf_inspect.getfullargspec(fn).varkw is not None


def get_func_name(func: Any) -> str:
    """Return the name of a function; of a method with its class."""
    _, func = tf_decorator.unwrap(func)
    if not callable(func):
        raise ValueError("Argument must be callable")
    if tf_inspect.isfunction(func):
        name: str = func.__name__
        return name
    if tf_inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__func__.__name__}"
    return str(type(func))


def get_func_code(func: Any) -> CodeType | None:
    """Return the code of a function, None if it has none."""
    _, func = tf_decorator.unwrap(func)
    if not callable(func):
        raise ValueError("Argument must be callable")
    if not tf_inspect.isfunction(func) and not tf_inspect.ismethod(func):
        func = func.__call__
    code: CodeType | None = getattr(func, "__code__", None)
    return code
