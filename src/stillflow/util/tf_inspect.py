"""The module ``inspect``, looking through decorators: ``tensorflow.python.util.tf_inspect``."""

from __future__ import annotations

import functools
import inspect
import inspect as _inspect  # noqa: F401 - programs reach the plain module by this name
from collections import namedtuple
from collections.abc import Callable
from inspect import (
    FullArgSpec,
    Parameter,
    getdoc,
    getframeinfo,
    getmembers,
    getmodule,
    getmro,
    isframe,
)
from inspect import signature as signature
from inspect import stack as stack
from types import FrameType
from typing import Any

from stillflow._home import is_our_module
from stillflow.util import tf_decorator

__all__ = [
    "ArgSpec",
    "FullArgSpec",
    "Parameter",
    "currentframe",
    "getargspec",
    "getcallargs",
    "getdoc",
    "getfile",
    "getframeinfo",
    "getfullargspec",
    "getmembers",
    "getmodule",
    "getmro",
    "getsource",
    "getsourcefile",
    "getsourcelines",
    "isbuiltin",
    "isclass",
    "isframe",
    "isfunction",
    "isgenerator",
    "isgeneratorfunction",
    "ismethod",
    "ismodule",
    "isroutine",
    "signature",
    "stack",
]

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def _looking_through(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def look(object: Any) -> bool:
        return function(tf_decorator.unwrap(object)[1])

    return look


getfile = _looking_through(inspect.getfile)
getsource = _looking_through(inspect.getsource)
getsourcefile = _looking_through(inspect.getsourcefile)
getsourcelines = _looking_through(inspect.getsourcelines)
isbuiltin = _looking_through(inspect.isbuiltin)
isclass = _looking_through(inspect.isclass)
isfunction = _looking_through(inspect.isfunction)
isgenerator = _looking_through(inspect.isgenerator)
isgeneratorfunction = _looking_through(inspect.isgeneratorfunction)
ismethod = _looking_through(inspect.ismethod)
ismodule = _looking_through(inspect.ismodule)
isroutine = _looking_through(inspect.isroutine)


def currentframe() -> FrameType:
    """Return the caller's frame."""
    return inspect.stack()[1][0]


def getfullargspec(obj: Any) -> Any:
    """Return the FullArgSpec of a function, or the one that its decorators declare."""
    decorators, target = tf_decorator.unwrap(obj)
    for decorator in decorators:
        spec = decorator.decorator_argspec
        if spec is not None:
            if isinstance(spec, FullArgSpec):
                return spec
            return FullArgSpec(spec.args, spec.varargs, spec.keywords, spec.defaults, [], None, {})
    traced = getattr(target, "function_spec", None)  # of a `tf.function`
    spec = inspect.getfullargspec(target) if traced is None else FullArgSpec(*traced)
    if is_our_module(getattr(target, "__module__", "")):
        spec = spec._replace(annotations={})  # TensorFlow's functions have none, libraries compare
    return spec


def getargspec(obj: Any) -> Any:
    """Return the ArgSpec of a function, a class, an object that can be called, or a partial.

    ValueError if a partial's arguments cannot be told in an ArgSpec.
    """
    if isinstance(obj, functools.partial):
        return _partial_argspec(obj)
    decorators, target = tf_decorator.unwrap(obj)
    for decorator in decorators:
        if decorator.decorator_argspec is not None:
            return decorator.decorator_argspec
    candidates = [target]
    if isinstance(target, type):
        candidates += [getattr(target, name) for name in ("__init__", "__new__")]
    for candidate in candidates:
        try:
            return _argspec(candidate)
        except TypeError:
            continue
    return _argspec(type(target).__call__)


def _argspec(target: Any) -> ArgSpec:
    spec = inspect.getfullargspec(target)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def _partial_argspec(partial: functools.partial[Any]) -> ArgSpec:
    args, varargs, keywords, defaults = getargspec(partial.func)
    defaulted = dict(zip(args[len(args) - len(defaults or ()) :], defaults or (), strict=True))
    args = args[len(partial.args) :]
    for name, value in partial.keywords.items():
        if name in args:
            defaulted[name] = value
        elif not keywords:
            raise ValueError(
                "Function does not have **kwargs parameter, but contains an unknown partial "
                "keyword."
            )
    first = next((at for at, name in enumerate(args) if name in defaulted), len(args))
    invalid = [name for name in args[first:] if name not in defaulted]
    if invalid:
        raise ValueError(
            f"Some arguments {invalid} do not have default value, but they are positioned after "
            "those with default values. This can not be expressed with ArgSpec."
        )
    return ArgSpec(args, varargs, keywords, tuple(defaulted[name] for name in args[first:]) or None)


def getcallargs(*func_and_positional: Any, **named: Any) -> dict[str, Any]:
    """Return {argument: value} for a call of the first argument with the others."""
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    owner = getattr(func, "__self__", None)
    if ismethod(func) and owner:
        positional = [owner, *positional]
    found = dict(named)
    found.update(zip([name for name in spec.args if name not in found], positional))
    defaults = spec.defaults or ()
    for name, value in zip(spec.args[len(spec.args) - len(defaults) :], defaults, strict=True):
        found.setdefault(name, value)
    for name, value in (spec.kwonlydefaults or {}).items():
        found.setdefault(name, value)
    return found
