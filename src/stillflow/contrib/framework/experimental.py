"""The notice of functions that may change or go."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from stillflow.platform import tf_logging as logging
from stillflow.util.decorator_utils import (
    add_notice_to_docstring,
    get_qualified_name,
    validate_callable,
)

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


def experimental(func: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
    """Decorate a function as experimental; each call logs a warning."""
    validate_callable(func, "experimental")

    @functools.wraps(func)
    def new_func(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        logging.warning(
            "%s (from %s) is experimental and may change or be removed at any time, and without "
            "warning.", get_qualified_name(func), func.__module__,
        )  # fmt: skip
        return func(*args, **kwargs)

    notice = (
        "THIS FUNCTION IS EXPERIMENTAL. It may change or be removed at any time, and without "
        "warning."
    )
    new_func.__doc__ = add_notice_to_docstring(
        func.__doc__, "", "EXPERIMENTAL FUNCTION", "(experimental)", [notice]
    )
    return new_func
