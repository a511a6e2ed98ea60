"""The library's calls of conversion for programs' functions; loads nothing before a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow._home import is_our_module
from stillflow._hooks import Hook
from stillflow.errors import OperatorNotAllowedInGraphError
from stillflow.graph.autograph_status import ControlStatusCtx, Status, control_status_ctx
from stillflow.graph.eager_mode import executing_eagerly

# The converter's interface: a decorator, its use on the library's arguments, and its errors.
convert: Hook[Callable[..., Any]] = Hook("autograph.hooks.convert")
convert_called: Hook[Callable[..., Any]] = Hook("autograph.hooks.convert_called")
told: Hook[Callable[[Exception], Exception]] = Hook("autograph.hooks.told")


def converted_for_tracing(
    function: Callable[..., Any], autograph: bool, features: Any = None
) -> Callable[..., Any]:
    """Return the function that `tf.function` calls to trace one of a program.

    `features` are one or several of `tf.autograph.experimental.Feature`.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        with ControlStatusCtx(Status.ENABLED if autograph else Status.DISABLED):
            if not autograph:
                return function(*args, **kwargs)
            return convert.value(recursive=True, optional_features=features)(function)(
                *args, **kwargs
            )

    return run


def tf_convert(
    function: Callable[..., Any], ctx: ControlStatusCtx, by_default: bool = True
) -> Callable[..., Any]:
    """Return a program's function for calls by the library in a graph, converted as `ctx` says."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return convert_called.value(function, ctx, by_default)(*args, **kwargs)

    return run


# Layers of tf.keras are not converted in TensorFlow either; all others are as a program's are.
_NOT_CONVERTED = ("stillflow.keras.layers.", "stillflow.keras.engine.")


def converted_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that a program may have overridden, where it builds a graph."""
    if executing_eagerly():
        return method
    if not is_our_module(getattr(method, "__module__", None)):
        return tf_convert(method, control_status_ctx())
    owner = type(getattr(method, "__self__", None)).__module__
    if owner.startswith(_NOT_CONVERTED) or control_status_ctx().status is Status.DISABLED:
        return method
    return _with_converted_errors(method)


def _with_converted_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of the library that reports errors like TensorFlow's converted one."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except OperatorNotAllowedInGraphError:
            raise
        except Exception as error:
            raise told.value(error)  # noqa: B904  # which says what its context is

    return run
