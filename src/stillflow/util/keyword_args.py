"""``tensorflow.python.util.keyword_args``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from stillflow.util import tf_decorator
from stillflow.util.decorator_utils import validate_callable


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function reject positional arguments by ValueError when it is called."""
    validate_callable(func, "keyword_args_only")

    @functools.wraps(func)
    def new_func(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    made: Callable[..., Any] = tf_decorator.make_decorator(func, new_func, "keyword_args_only")
    return made
