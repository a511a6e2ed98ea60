"""``tensorflow.python.util.tf_contextlib``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

from stillflow.util import tf_decorator, tf_inspect

_Params = ParamSpec("_Params")
_Value = TypeVar("_Value")


def contextmanager(
    target: Callable[_Params, Iterator[_Value]],
) -> Callable[_Params, AbstractContextManager[_Value]]:
    """Make a generator function a context manager that can be looked through."""
    manager: Callable[_Params, AbstractContextManager[_Value]] = tf_decorator.make_decorator(
        target,
        contextlib.contextmanager(target),
        "contextmanager",
        decorator_argspec=tf_inspect.getargspec(target),
    )
    return manager
