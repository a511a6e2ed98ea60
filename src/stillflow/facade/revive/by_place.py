"""Functions that took more of their arguments by place than they do today."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any


def by_place(function: Callable[..., Any], count: int, named: Sequence[str]) -> Callable[..., Any]:
    """Return a function that takes `named` arguments by place, too, after the first `count`."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        more = args[count:]
        if more and len(more) <= len(named) and options.keys().isdisjoint(named[: len(more)]):
            options.update(zip(named, more, strict=False))
            args = args[:count]
        return function(*args, **options)

    return call
