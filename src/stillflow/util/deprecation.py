"""Deprecation notices as TensorFlow gives them: ``tensorflow.python.util.deprecation``."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
from collections.abc import Callable, Hashable, Iterator
from types import FrameType
from typing import Any, TypeVar

from stillflow._home import FOLDERS
from stillflow.util import tf_decorator, tf_inspect
from stillflow.util.decorator_utils import (
    add_notice_to_docstring,
    get_qualified_name,
    validate_callable,
)
from stillflow.util.renamed import renamed_argument

Function = TypeVar("Function", bound=Callable[..., Any])
_PRINT_DEPRECATION_WARNINGS = True
_PRINTED_WARNING: dict[Hashable, bool] = {}
_UPDATING = "Instructions for updating:"
_REMOVED = f"is deprecated and will be removed %s.\n{_UPDATING}\n%s"
_DECORATORS = os.path.join(os.path.dirname(__file__), "")


class DeprecatedNamesAlreadySet(Exception):
    """Raised when the deprecated names of one symbol are set twice."""


def deprecated(
    date: str | None, instructions: str, warn_once: bool = True
) -> Callable[[Function], Function]:
    """Decorate a function as deprecated; calling it logs a warning.

    Args:
      date: when it will be removed ("2018-01-31"), None for some day.
      instructions: the replacement to recommend.
      warn_once: whether the first call alone warns.
    """
    _check(date, instructions)
    when = _when(date)

    def decorate(func: Function) -> Function:
        validate_callable(func, "deprecated")
        told = get_qualified_name(func), func.__module__, when, instructions

        @functools.wraps(func)
        def new_func(*args: Any, **kwargs: Any) -> Any:
            if func not in _PRINTED_WARNING:
                _warn(func, warn_once, f"From %s: %s (from %s) {_REMOVED}", *told)
            return func(*args, **kwargs)

        doc = _with_notice(
            func.__doc__,
            instructions,
            "DEPRECATED FUNCTION",
            "(deprecated)",
            f"THIS FUNCTION IS DEPRECATED. It will be removed {when}.",
        )
        return tf_decorator.make_decorator(func, new_func, "deprecated", doc)

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Function], Function]:
    """Decorate a function, some of whose arguments are deprecated; giving them logs a warning.

    Args:
      date: when they will be removed ("2018-01-31"), None for some day.
      instructions: the replacement to recommend.
      *deprecated_arg_names_or_tuples: names, or pairs of a name and a value that is still fine.
      **kwargs: `warn_once`, whether the first call alone warns.

    Raises:
      ValueError: the function has no such argument, or there is another keyword argument.
    """
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    if kwargs.keys() - {"warn_once"}:
        raise ValueError(f"Illegal argument to deprecated_args: {sorted(kwargs)}")
    warn_once = kwargs.get("warn_once", True)
    fine: dict[str, Any] = dict(
        item if isinstance(item, tuple) else (item, _NOTHING)
        for item in deprecated_arg_names_or_tuples
    )

    def decorate(func: Function) -> Function:
        validate_callable(func, "deprecated_args")
        spec = tf_inspect.getfullargspec(func)
        known = {*spec.args, *spec.kwonlyargs, spec.varargs, spec.varkw}
        if missing := [name for name in fine if name not in known]:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: "
                f"{missing}. Found next arguments: {spec.args}."
            )

        of_any = spec.varkw in fine
        first = min((spec.args.index(n) for n in fine if n in spec.args), default=len(spec.args))
        warn = _argument_warner(func, warn_once, date, instructions)

        @functools.wraps(func)
        def new_func(*args: Any, **kwargs: Any) -> Any:
            if len(args) > first or (kwargs and (of_any or not fine.keys().isdisjoint(kwargs))):
                for name in _given(func, spec, fine, args, kwargs):
                    warn(name)
            return func(*args, **kwargs)

        names = ", ".join(sorted(fine))
        doc = _with_notice(
            func.__doc__,
            instructions,
            "DEPRECATED FUNCTION ARGUMENTS",
            "(deprecated arguments)",
            f"SOME ARGUMENTS ARE DEPRECATED: `({names})`. They will be removed {_when(date)}.",
        )
        return tf_decorator.make_decorator(func, new_func, "deprecated", doc)

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Function], Function]:
    """Decorate a function, some of whose arguments' values are deprecated.

    Args:
      date: when they will be removed ("2018-01-31"), None for some day.
      instructions: the replacement to recommend.
      warn_once: whether the first call alone warns.
      **deprecated_kwargs: the arguments with these values.
    """
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(func: Function) -> Function:
        validate_callable(func, "deprecated_arg_values")

        warn = _argument_warner(func, warn_once, date, instructions)

        @functools.wraps(func)
        def new_func(*args: Any, **kwargs: Any) -> Any:
            if _PRINT_DEPRECATION_WARNINGS:
                given = tf_inspect.getcallargs(func, *args, **kwargs)
                for name, value in deprecated_kwargs.items():
                    if name in given and given[name] == value:
                        warn(name, f"={value}")
            return func(*args, **kwargs)

        values = ", ".join(f"{name}={value!r}" for name, value in sorted(deprecated_kwargs.items()))
        doc = _with_notice(
            func.__doc__,
            instructions,
            "DEPRECATED FUNCTION ARGUMENT VALUES",
            "(deprecated argument values)",
            f"SOME ARGUMENT VALUES ARE DEPRECATED: `({values})`. "
            f"They will be removed {_when(date)}.",
        )
        return tf_decorator.make_decorator(func, new_func, "deprecated", doc)

    return decorate


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """Return a function or a class under a name that is deprecated; using it logs a warning.

    Args:
      deprecated_name: the name that programs should no longer use.
      name: the one they should use.
      func_or_class: what both stand for.
      warn_once: whether the first use alone warns.
    """
    message = "From %s: The name %s is deprecated. Please use %s instead.\n"
    instead = f"Please use {name} instead."
    if not tf_inspect.isclass(func_or_class):
        validate_callable(func_or_class, "deprecated")

        @functools.wraps(func_or_class)
        def new_func(*args: Any, **kwargs: Any) -> Any:
            _warn(new_func, warn_once, message, deprecated_name, name)
            return func_or_class(*args, **kwargs)

        doc = _with_notice(
            func_or_class.__doc__,
            instead,
            "DEPRECATED FUNCTION",
            "(deprecated)",
            "THIS FUNCTION IS DEPRECATED. It will be removed in a future version.",
        )
        return tf_decorator.make_decorator(func_or_class, new_func, "deprecated", doc)

    class Alias(func_or_class):
        __doc__ = add_notice_to_docstring(
            func_or_class.__doc__,
            instead,
            "DEPRECATED CLASS",
            "(deprecated)",
            ["THIS CLASS IS DEPRECATED. It will be removed in a future version. "],
        )

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            _warn(Alias, warn_once, message, deprecated_name, name)
            super().__init__(*args, **kwargs)

    tf_decorator.make_decorator(func_or_class.__init__, Alias.__init__)
    Alias.__name__, Alias.__qualname__ = func_or_class.__name__, func_or_class.__qualname__
    return Alias


def deprecated_endpoints(*args: str) -> Callable[[Function], Function]:
    """Remember the deprecated names of a symbol; DeprecatedNamesAlreadySet if it has some."""

    def decorate(func: Any) -> Any:
        if "_tf_deprecated_api_names" in func.__dict__:
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {func.__name__} to {args}. "
                f"Deprecated names are already set to {func._tf_deprecated_api_names}."
            )
        func._tf_deprecated_api_names = args
        return func

    return decorate


deprecated_argument_lookup = renamed_argument


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """Return a docstring that calls an argument by another name."""
    quoted = old_doc.replace(f"`{old_argument}`", f"`{new_argument}`")
    return quoted.replace(f"{old_argument}:", f"{new_argument}:")


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Log no deprecation warnings in this context."""
    global _PRINT_DEPRECATION_WARNINGS
    before = _PRINT_DEPRECATION_WARNINGS
    _PRINT_DEPRECATION_WARNINGS = False
    yield
    _PRINT_DEPRECATION_WARNINGS = before


_NOTHING: Any = object()


def _given(
    func: Any, spec: Any, fine: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[str]:
    """Yield the names of the deprecated arguments in a call, less those with a fine value."""
    values: dict[str, Any] = {}  # of all arguments, once they matter
    for name, value in fine.items():
        if name == spec.varargs:
            if len(args) > len(spec.args):
                yield name
        elif name == spec.varkw:
            if kwargs:
                yield name
        elif name in kwargs or name in spec.args[: len(args)]:
            if value is not _NOTHING:
                values = values or tf_inspect.getcallargs(func, *args, **kwargs)
                if _same(values.get(name), value):
                    continue
            yield name


def _same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    try:
        return bool(first == second)
    except Exception:  # arrays, data frames: not the plain value that is still fine
        return False


def _argument_warner(func: Any, warn_once: bool, date: str | None, text: str) -> Any:
    """Return a function that warns of an argument of `func`, by its name and value."""
    title, message = (
        (get_qualified_name(func), func.__module__),
        "From %s: calling %s (from %s) with ",
    )

    def warn(name: str, value: str = "") -> None:
        told = (*title, name + value, _when(date), text)
        _warn((func, name), warn_once, f"{message}%s {_REMOVED}", *told)

    return warn


def _warn(key: Hashable, warn_once: bool, message: str, *args: Any) -> None:
    if not _PRINT_DEPRECATION_WARNINGS or key in _PRINTED_WARNING:
        return
    caller = _caller()
    if caller is not None and caller.f_code.co_filename.startswith(FOLDERS):
        return  # the program cannot change that call
    if warn_once:
        _PRINTED_WARNING[key] = True
    from stillflow.platform import tf_logging

    place = f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller is not None else "UNKNOWN"
    tf_logging.warning(message, place, *args)


class HiddenTfApiAttribute(property):
    """Inherited attribute that raises an error when it is read from an object.

    Args:
      deprecation_message: what the AttributeError says.
    """

    def __init__(self, deprecation_message: str) -> None:
        def refuse(unused_self: object) -> Any:
            raise AttributeError(deprecation_message)

        super().__init__(refuse)


hide_attribute_from_api = HiddenTfApiAttribute


def _caller() -> FrameType | None:
    """Return the frame that calls a decorated function, outside of this folder's decorators."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_DECORATORS):
        frame = frame.f_back
    return frame


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _with_notice(doc: str | None, instructions: str, instead: str, suffix: str, notice: str) -> str:
    """Return a docstring with a warning below its first line."""
    return add_notice_to_docstring(doc, instructions, instead, suffix, [notice, _UPDATING])
