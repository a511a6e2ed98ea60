"""Calls from converted code, and the functions that ask for a conversion."""

from __future__ import annotations

import functools
import inspect
import os
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from stillflow.autograph import hooks
from stillflow.autograph.allowed import is_allowed
from stillflow.autograph.conversion import convert_function, is_converted
from stillflow.autograph.failures import told
from stillflow.autograph.operators.builtin_functions import OVERLOADS
from stillflow.autograph.options import ConversionOptions
from stillflow.autograph.verbosity import log, warn
from stillflow.graph.autograph_status import ControlStatusCtx, Status
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util import tf_decorator

_MARK = "__ag_compiled"  # set on functions that are never converted
# Functions that could not be converted, or need not be.
_as_it_is: weakref.WeakKeyDictionary[Any, set[ConversionOptions]] = weakref.WeakKeyDictionary()


def resolve(f: Any, options: ConversionOptions) -> Any:
    """Return the callee for `f`: its conversion, an overload of a Python function, or `f`."""
    if f.__class__ is BuiltinFunctionType or f.__class__ is type:
        return OVERLOADS.get(f, f)
    if inspect.isclass(f) or _stays(f, options):
        return f
    try:
        if isinstance(f, functools.partial):
            # A class is instantiated without conversion, unless a metaclass redefines its call.
            inside = _converted if inspect.isclass(f.func) else resolve
            return functools.partial(inside(f.func, options), *f.args, **f.keywords)
        return _converted(f, options)
    except Exception as error:
        if int(os.environ.get("AUTOGRAPH_STRICT_CONVERSION", 0)) > 0:
            raise
        warn(
            "Entity %s could not be transformed and will be executed as-is. Please report this to "
            "the AutoGraph team. When filing the bug, set the verbosity to 10 (on Linux, `export "
            "AUTOGRAPH_VERBOSITY=10`) and attach the full output. Cause: %s", f, error,
        )  # fmt: skip
        return _keep(f, options)


def _stays(f: Any, options: ConversionOptions) -> bool:
    """Return True if something is called as it is."""
    function = f.__func__ if isinstance(f, MethodType) else f
    if isinstance(function, FunctionType) and is_converted(function):
        return True
    if hasattr(f, _MARK) or not options.internal_convert_user_code:
        return True
    try:
        if options in _as_it_is.get(function, ()):
            return True
    except TypeError:  # not hashable, or without weak references
        pass
    kind = type(f)
    if kind is functools._lru_cache_wrapper:
        return True
    if kind.__module__.split(".")[0] == "wrapt":
        warn(
            "Entity %s appears to be decorated by wrapt, which is not yet supported by AutoGraph. "
            "The function will be called without transformation. You may however apply AutoGraph "
            "before the decorator.", f,
        )  # fmt: skip
        return True
    if not options.user_requested and is_allowed(f):
        _keep(f, options)
        return True
    return False


def _keep(f: Any, options: ConversionOptions) -> Any:
    function = f.__func__ if isinstance(f, MethodType) else f
    try:
        _as_it_is.setdefault(function, set()).add(options)
    except TypeError:  # not hashable, or without weak references
        pass
    return f


def _converted(f: Any, options: ConversionOptions) -> Callable[..., Any]:
    if isinstance(f, MethodType):
        return MethodType(_converted(f.__func__, options), f.__self__)
    if not isinstance(f, FunctionType):
        called = type(f).__call__
        has_code = isinstance(called, FunctionType)
        return MethodType(_converted(called, options), f) if has_code else f
    if f.__code__.co_filename == "<string>":
        log(2, "Permanently whitelisted: %s: dynamic code (exec?)", f)
        return _keep(f, options)
    return convert_function(f, options)


# ---- public functions


@export("contrib.autograph.converted_call")
def converted_call(
    f: Any, options: ConversionOptions, args: Any, kwargs: Any, caller_fn_scope: Any = None
) -> Tensor:
    """Call a function as converted code would.

    Args:
      f: the function.
      options: how it is converted.
      args, kwargs: its arguments; `kwargs` may be None.
      caller_fn_scope: has no effect.
    """
    del caller_fn_scope
    return resolve(f, options)(*args, **(kwargs or {}))


@export("contrib.autograph.convert")
def convert(
    recursive: bool = False, optional_features: Any = None, user_requested: bool = True
) -> Callable[[Any], Any]:
    """Return a decorator that converts a function each time it is called.

    Args:
      recursive: whether functions that it calls are converted too.
      optional_features: a `tf.autograph.experimental.Feature`, or several.
      user_requested: whether it is converted wherever it comes from.
    """
    options = ConversionOptions(recursive, user_requested, True, optional_features)

    def decorate(f: Any) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            function = resolve(f, options)
            try:
                return function(*args, **kwargs)
            except Exception as error:
                raise told(error)  # noqa: B904  # which says what its context is

        return _marked(wrapper, f, tf_decorator.make_decorator)

    return decorate


def tf_convert(
    f: Any, ctx: ControlStatusCtx, convert_by_default: bool = True, user_requested: bool = False
) -> Callable[..., Any]:
    """Return the conversion of a program's function that is passed to the library.

    What is said of conversion in `ctx` holds for `f`, else `convert_by_default`. It is converted
    wherever it comes from if `user_requested`.
    """
    if hasattr(f, _MARK):
        return f
    decorators, inner = tf_decorator.unwrap(f)
    if ctx.status is Status.DISABLED:
        wrapper = do_not_convert(inner)
    elif ctx.status is Status.ENABLED or convert_by_default:
        wrapper = convert(recursive=True, user_requested=user_requested)(inner)
    else:
        wrapper = call_with_unspecified_conversion_status(inner)
    if decorators:
        wrapper = tf_decorator.rewrap(f, inner, wrapper)
    setattr(wrapper, _MARK, True)
    return wrapper


@export("autograph.experimental.do_not_convert", "contrib.autograph.do_not_convert")
def do_not_convert(func: Any = None) -> Callable[..., Any]:
    """Return a decorator: the function is called as it is, also by converted code."""
    return do_not_convert if func is None else _with_status(func, Status.DISABLED)


def call_with_unspecified_conversion_status(func: Any) -> Callable[..., Any]:
    """Return a decorator: in the function nothing is said about conversion."""
    return _with_status(func, Status.UNSPECIFIED)


def do_not_convert_internal(f: Any) -> Any:
    """Mark a function of the library itself, which is called without conversion."""
    setattr(f, _MARK, True)
    return f


def _with_status(func: Any, status: Status) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with ControlStatusCtx(status):
            return func(*args, **kwargs)

    return _marked(wrapper, func, None)


def _marked(wrapper: Any, f: Any, decorate: Any) -> Callable[..., Any]:
    if inspect.isfunction(f) or inspect.ismethod(f):
        functools.update_wrapper(wrapper, f)
    if decorate is not None:
        wrapper = decorate(f, wrapper)
    setattr(wrapper, _MARK, True)
    return wrapper


hooks.convert.provide(convert)
hooks.convert_called.provide(tf_convert)
