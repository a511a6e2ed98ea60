"""Scopes of default arguments: `with arg_scope([conv2d], padding="SAME"): ...`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from stillflow.graph.export import export
from stillflow.util import tf_decorator
from stillflow.util.tf_contextlib import contextmanager

_Function = TypeVar("_Function", bound=Callable[..., Any])
# The scopes that are open, innermost last: {key of a function: {argument: value}}.
_open: list[dict[Any, dict[str, Any]]] = [{}]

# The arguments with defaults of every function that takes part.
_arguments: dict[Any, tuple[str, ...]] = {}


@export("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> dict[Any, dict[str, Any]]:
    """Return the innermost scope, {key of a function: {argument: value}}."""
    return _open[-1]


@export("contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: Any) -> str:
    """Return the key of a function in a scope, before and after it is decorated."""
    return getattr(op, "_key_op", str(op))


def _keyword_names(func: Any) -> tuple[str, ...]:
    count = len(func.__defaults__) if func.__defaults__ else 0
    code = func.__code__
    names: tuple[str, ...] = code.co_varnames[-count : code.co_argcount]
    return names


def _with_defaults(ops: Any, kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    if not isinstance(ops, (list, tuple)):
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    scope = current_arg_scope().copy()
    for op in ops:
        if not has_arg_scope(op):
            raise ValueError(
                "%s is not decorated with @add_arg_scope", (op.__module__, op.__name__)
            )
        key = arg_scope_func_key(op)
        scope[key] = {**scope.get(key, {}), **kwargs}
    return scope


@export("contrib.framework.arg_scope", "contrib.slim.arg_scope")
@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[dict[Any, dict[str, Any]]]:
    """Set default arguments of functions in a `with` block.

    Args:
      list_ops_or_scope: a list or tuple of functions decorated with `add_arg_scope`; or a scope
        that an earlier `arg_scope` returned, which replaces the current one.
      **kwargs: the defaults, for each of the functions.

    Returns:
      A context manager that gives the scope.

    Raises:
      TypeError: if the first argument is neither.
      ValueError: for a function that is not decorated; for a scope with defaults.

    Example:
      >>> slim = tf.contrib.slim
      >>> with slim.arg_scope([slim.conv2d], kernel_size=3, padding="VALID"):
      ...     print(slim.conv2d(tf.ones([1, 8, 8, 3]), 16).shape)
      (1, 6, 6, 16)
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling adictionary, kwargs must be empty."
            )
        scope = list_ops_or_scope.copy()
    else:
        scope = _with_defaults(list_ops_or_scope, kwargs)
    _open.append(scope)
    try:
        yield scope
    finally:
        _open.pop()


@export("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: _Function) -> _Function:
    """Decorate a function so that an `arg_scope` can set its defaults.

    Args:
      func: a function with default arguments.

    Returns:
      The function that asks the current scope first.
    """
    key = arg_scope_func_key(func)

    def func_with_args(*args: Any, **kwargs: Any) -> Any:
        defaults = current_arg_scope().get(key)
        return func(*args, **(kwargs if defaults is None else {**defaults, **kwargs}))

    _arguments[key] = _keyword_names(func)
    func_with_args._key_op = key  # type: ignore[attr-defined]
    decorated: _Function = tf_decorator.make_decorator(func, func_with_args)
    return decorated


@export("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    """Return True if a function is decorated with `add_arg_scope`."""
    return arg_scope_func_key(func) in _arguments


@export("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the arguments of a decorated function that a scope can set."""
    assert has_arg_scope(func)
    return _arguments[arg_scope_func_key(func)]
