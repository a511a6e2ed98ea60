"""Check of a function's number of arguments against a computation's inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.util.tf_inspect import getargspec


def argument_error(function: Callable[..., Any], count: int, queue: Any) -> str | None:
    """Return the number of arguments that a function needs; None if it accepts `count` of them.

    An `InfeedQueue` may give further ones.
    """
    if queue is not None:
        count += queue.number_of_tuple_elements
    spec = getargspec(function)
    most, defaults = len(spec.args), len(spec.defaults or ())
    if count < most - defaults:
        return _quantity("at least" if defaults or spec.varargs else "exactly", most - defaults)
    if count > most and spec.varargs is None:
        return _quantity("at most" if defaults else "exactly", most)
    return None


def _quantity(which: str, count: int) -> str:
    return f"{which} {count} argument{'' if count == 1 else 's'}"
