"""``tensorflow.python.util.tf_contextlib``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from stillflow.util import tf_decorator, tf_inspect


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """Make a generator function a context manager that can be looked through."""
    manager: Callable[..., Any] = tf_decorator.make_decorator(
        target,
        contextlib.contextmanager(target),
        "contextmanager",
        decorator_argspec=tf_inspect.getargspec(target),
    )
    return manager
